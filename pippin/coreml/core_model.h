// Core ML's classes as Pippin uses them, in plain C++: core_model.mm and core_arrays.mm are the
// only files that speak Objective-C, to Apple's framework or to the stand-in of tests/coreml.
//
// Nothing here throws: Core ML's errors and exceptions come back as a Trouble, in its words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pippin/mil/data_type.h"

namespace pippin::coreml {

// What was wrong, in one line; empty: nothing.
using Trouble = std::string;

// With the numbers of MLComputeUnits.
enum class ComputeUnits : uint8_t { CpuOnly = 0, CpuAndGpu = 1, All = 2, CpuAndNeuralEngine = 3 };

// Where the elements of an array lie, for the moment: strides are in elements.
struct Elements {
  std::byte* data = nullptr;
  mil::DataType type = mil::DataType::Float32;
  std::vector<int64_t> shape, strides;
};

// An MLMultiArray, or a picture as an array of bytes or halves [height, width, channels].
class CoreArray {
 public:
  virtual ~CoreArray() = default;
  // Calls `use`, which must not throw, with where the elements lie during the call.
  virtual Trouble read(const std::function<void(const Elements&)>& use) = 0;
  virtual Trouble write(const std::function<void(const Elements&)>& use) = 0;
};

// How pictures lie in memory.
enum class PixelFormat : uint8_t { Bgra, Gray, GrayHalf };

struct NamedArray {
  std::string name;
  std::shared_ptr<CoreArray> array;
};

// An MLState: arrays that predictions change.
class CoreState {
 public:
  virtual ~CoreState() = default;
  // The array of that name, not while a prediction runs. `use` must not throw, and may write.
  virtual Trouble access(const std::string& name,
                         const std::function<void(const Elements&)>& use) = 0;
};

struct Request {
  std::vector<NamedArray> inputs;
  // Where outputs are to be written, if Core ML likes to: the result says whether it did. Wrapped
  // arrays, no pictures.
  std::vector<NamedArray> backings;
  CoreState* state = nullptr;
};

struct Output {
  std::string name;
  std::shared_ptr<CoreArray> array;  // the backing's own where that was used; null: no array
};

// A prediction that runs. Its arrays and state must outlive it.
class Pending {
 public:
  virtual ~Pending() = default;  // waits
  virtual Trouble wait(std::vector<Output>& outputs) = 0;
};

// A loaded function of a compiled model. Several predictions at a time are start()ed; otherwise
// one thread at a time uses it.
class CoreModel {
 public:
  virtual ~CoreModel() = default;
  virtual const std::set<std::string>& input_names() const = 0;
  virtual const std::set<std::string>& output_names() const = 0;
  virtual Trouble new_state(std::unique_ptr<CoreState>& state) = 0;
  virtual Trouble predict(const Request& request, std::vector<Output>& outputs) = 0;
  // As predict(), but comes back at once. Null if the system has no such member.
  virtual std::unique_ptr<Pending> start(const Request& request) = 0;
};

struct LoadChoice {
  ComputeUnits units = ComputeUnits::All;
  std::string function;  // empty: the default one
};

enum class ComputeDevice : uint8_t { Cpu, Gpu, NeuralEngine, Unknown };

// What Core ML plans for an operation of a program.
struct OperationPlan {
  std::string type, output;                // in MIL, and the name of its first result
  std::optional<ComputeDevice> preferred;  // nothing: it runs nowhere, as a constant does
  std::vector<ComputeDevice> supported;
  std::optional<double> cost;  // its share of the function's, from 0 to 1
};

// Asked every now and then by what takes long: false ends the wait.
using KeepWaiting = std::function<bool()>;

class Framework {
 public:
  virtual ~Framework() = default;

  virtual std::string system() const = 0;  // its version: compiled models are good for one
  virtual bool has_functions() const = 0;  // macOS 15
  virtual bool has_states() const = 0;     // macOS 15
  virtual bool has_neural_engine_units() const = 0;  // cpuAndNeuralEngine: macOS 13
  virtual bool has_compute_plans() const = 0;        // macOS 14.4

  // An array in memory of the caller's, packed, which must outlive it.
  virtual Trouble wrap(void* data, mil::DataType type, const std::vector<int64_t>& shape,
                       std::shared_ptr<CoreArray>& array) = 0;
  virtual Trouble make_picture(PixelFormat format, int64_t width, int64_t height,
                               std::shared_ptr<CoreArray>& array) = 0;

  // Where the compiled model lies: in a folder of the system's, from which it has to be moved to be
  // kept. Where the wait ends early there is a Trouble and no path, and the work goes on unseen.
  virtual Trouble compile(const std::filesystem::path& package, const KeepWaiting& keep_waiting,
                          std::filesystem::path& compiled) = 0;
  virtual Trouble load(const std::filesystem::path& compiled, const LoadChoice& choice,
                       std::unique_ptr<CoreModel>& model) = 0;
  // Of the function of that name, which `choice` is about: operations as the program has them,
  // those of blocks behind the one that holds them.
  virtual Trouble plan(const std::filesystem::path& compiled, const LoadChoice& choice,
                       const std::string& function, const KeepWaiting& keep_waiting,
                       std::vector<OperationPlan>& operations) = 0;
};

// Core ML; defined where core_model.mm is part of the program.
Framework& core_ml();

}  // namespace pippin::coreml
