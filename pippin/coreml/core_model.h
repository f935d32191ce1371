// C++ interfaces to the Core ML classes that Pippin uses: core_model.mm and core_arrays.mm are the
// only files with Objective-C, calling Apple's framework or the stand-in of tests/coreml.
//
// Nothing here throws: Core ML's errors and exceptions are returned as an ErrorText, with its
// message.
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

// An error in one line; empty: none.
using ErrorText = std::string;

// With the numbers of MLComputeUnits.
enum class ComputeUnits : uint8_t { CpuOnly = 0, CpuAndGpu = 1, All = 2, CpuAndNeuralEngine = 3 };

// The temporary location of an array's elements; strides are in elements.
struct Elements {
  std::byte* data = nullptr;
  mil::DataType type = mil::DataType::Float32;
  std::vector<int64_t> shape, strides;
};

// An MLMultiArray, or a picture as an array of bytes or halves [height, width, channels].
class CoreArray {
 public:
  virtual ~CoreArray() = default;
  // Calls `use`, which must not throw, with the location of the elements during the call.
  virtual ErrorText read(const std::function<void(const Elements&)>& use) = 0;
  virtual ErrorText write(const std::function<void(const Elements&)>& use) = 0;
};

// The memory formats of pictures.
enum class PixelFormat : uint8_t { Bgra, Gray, GrayHalf };

struct NamedArray {
  std::string name;
  std::shared_ptr<CoreArray> array;
};

// An MLState: arrays that predictions update.
class CoreState {
 public:
  virtual ~CoreState() = default;
  // Accesses the array of that name; not while a prediction runs. `use` must not throw, and may
  // write.
  virtual ErrorText access(const std::string& name,
                           const std::function<void(const Elements&)>& use) = 0;
};

struct Request {
  std::vector<NamedArray> inputs;
  // Preferred memory for outputs, which Core ML may ignore: the result says whether it was used.
  // Wrapped arrays, not pictures.
  std::vector<NamedArray> backings;
  CoreState* state = nullptr;
};

struct Output {
  std::string name;
  std::shared_ptr<CoreArray> array;  // the backing itself if it was used; null: no array
};

// A running prediction. Its arrays and state must outlive it.
class Pending {
 public:
  virtual ~Pending() = default;  // waits
  virtual ErrorText wait(std::vector<Output>& outputs) = 0;
};

// A loaded function of a compiled model. start() allows several predictions at a time; otherwise
// only one thread may use it at a time.
class CoreModel {
 public:
  virtual ~CoreModel() = default;
  virtual const std::set<std::string>& input_names() const = 0;
  virtual const std::set<std::string>& output_names() const = 0;
  virtual ErrorText new_state(std::unique_ptr<CoreState>& state) = 0;
  virtual ErrorText predict(const Request& request, std::vector<Output>& outputs) = 0;
  // Like predict(), but returns immediately. Null if the system does not support it.
  virtual std::unique_ptr<Pending> start(const Request& request) = 0;
};

struct LoadChoice {
  ComputeUnits units = ComputeUnits::All;
  std::string function;  // empty: the default one
};

enum class ComputeDevice : uint8_t { Cpu, Gpu, NeuralEngine, Unknown };

// Core ML's plan for an operation of a program.
struct OperationPlan {
  std::string type, output;                // in MIL, and the name of its first result
  std::optional<ComputeDevice> preferred;  // nullopt: it does not run, for example a constant
  std::vector<ComputeDevice> supported;
  std::optional<double> cost;  // fraction of the function's cost, from 0 to 1
};

// Called regularly by long operations: returning false ends the wait.
using KeepWaiting = std::function<bool()>;

class Framework {
 public:
  virtual ~Framework() = default;

  virtual std::string system() const = 0;  // its version: compiled models are valid for one version
  virtual bool has_functions() const = 0;  // macOS 15
  virtual bool has_states() const = 0;     // macOS 15
  virtual bool has_neural_engine_units() const = 0;  // cpuAndNeuralEngine: macOS 13
  virtual bool has_compute_plans() const = 0;        // macOS 14.4

  // An array in the caller's packed memory, which must outlive it.
  virtual ErrorText wrap(void* data, mil::DataType type, const std::vector<int64_t>& shape,
                         std::shared_ptr<CoreArray>& array) = 0;
  virtual ErrorText make_picture(PixelFormat format, int64_t width, int64_t height,
                                 std::shared_ptr<CoreArray>& array) = 0;

  // Returns the location of the compiled model: a folder of the system, from which it must be moved
  // to be kept. If the wait ends early, there is an ErrorText and no path, and the work continues
  // in the background.
  virtual ErrorText compile(const std::filesystem::path& package, const KeepWaiting& keep_waiting,
                            std::filesystem::path& compiled) = 0;
  virtual ErrorText load(const std::filesystem::path& compiled, const LoadChoice& choice,
                         std::unique_ptr<CoreModel>& model) = 0;
  // The plan of the function that `choice` names: operations in program order, those of blocks
  // after the operation that contains them.
  virtual ErrorText plan(const std::filesystem::path& compiled, const LoadChoice& choice,
                         const std::string& function, const KeepWaiting& keep_waiting,
                         std::vector<OperationPlan>& operations) = 0;
};

// Core ML; defined if core_model.mm is part of the program.
Framework& core_ml();

}  // namespace pippin::coreml
