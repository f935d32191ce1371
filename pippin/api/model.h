// Pippin's public interface: runs any Core ML model that is an ML Program, or a pipeline of them.
//
//   pippin::Model model = pippin::Model::load("X.mlpackage");
//   pippin::Function function = model.function();
//   pippin::State state = function.make_state();
//   pippin::Values outputs = function.predict({{"x", tensor}}, state);
//
// To predict many times from the same memory into the same memory, there is Function::prepare().
//
// Errors are pippin::Error (base/exception.h). Objects are cheap to move; a Function keeps what it
// needs of its Model. Predictions of one model are made one after the other, whatever threads ask
// for them, each on all threads of the model; different models do not wait for each other. Whoever
// waits can be cancelled (base/cancel.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/api/call.h"
#include "pippin/api/tensor.h"
#include "pippin/base/export.h"
#include "pippin/engine/compute_options.h"

namespace pippin {

using engine::Precision;

// Beside what is here: precision and the others of engine::ComputeOptions.
struct LoadOptions : engine::ComputeOptions {
  int num_threads = 0;  // 0: one per core
  // Beyond these a prediction ends with LimitExceeded.
  int64_t max_elements = int64_t{1} << 31;  // of one value
  int64_t max_iterations = 10'000'000;      // of all loops of a prediction together
  bool trace = false;                       // keep what Function::describe() tells
  // Where there is no `cache`: a folder for one, made when something is stored. It may be shared
  // and never makes a load fail.
  std::filesystem::path load_cache = {};
  uint64_t load_cache_bytes = 0;  // it may have; 0: 20 GB or a tenth of the disk
};

struct SizeRange {
  int64_t lower = 0;
  int64_t upper = 0;  // inclusive; below 0: unbounded
};

enum class ColorSpace : uint8_t { Grayscale, Rgb, Bgr, GrayscaleFloat16 };

// An input, output or state as the model declares it.
struct FeatureInfo {
  enum class Kind : uint8_t {
    MultiArray,
    Image,       // a tensor [1, 3, height, width], or of one channel where it is gray
    Int64,       // a tensor [1]
    Double,      // a tensor [1]
    String,      // a tensor [1]
    Dictionary,  // the probabilities of a classifier
    Sequence,    // not supported as a value
    State,
  };
  std::string name, description;
  Kind kind = Kind::MultiArray;
  DataType type = DataType::Float32;  // of a dictionary: of its keys
  // The default shape. Empty where it is not declared: outputs whose shape depends on the input.
  std::vector<int64_t> shape;
  std::vector<SizeRange> ranges;                        // one per axis, or none
  std::vector<std::vector<int64_t>> enumerated_shapes;  // these and no others, or none
  bool optional = false;                                // an input that need not be given
  double default_value = 0;                             // that it has then, in the default shape
  std::optional<ColorSpace> color_space;                // Image
};

// "float32 [1, 1..128]", "image RGB 224 x 224": what errors say was expected.
PIPPIN_API std::string to_string(const FeatureInfo& feature);

struct ModelMetadata {
  int specification_version = 0;
  std::string short_description, version, author, license;
  std::map<std::string, std::string> user_defined;
};

// What a model remembers between predictions: zeros at first. It belongs to one sequence of
// predictions, and only one at a time may use it.
class PIPPIN_API State {
 public:
  State(State&&) noexcept;
  State& operator=(State&&) noexcept;
  ~State();

  const std::vector<FeatureInfo>& features() const;
  Tensor get(std::string_view name) const;  // throws NotFound
  // Throws NotFound; InvalidArgument for another shape, or values that Tensor::to() refuses.
  void set(std::string_view name, const Tensor& value);
  void reset();  // back to zeros

 private:
  friend class Call;
  friend class Function;
  friend class Model;
  struct Impl;
  explicit State(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class PIPPIN_API Function {
 public:
  Function(Function&&) noexcept;
  Function& operator=(Function&&) noexcept;
  ~Function();

  const std::string& name() const;
  const std::vector<FeatureInfo>& inputs() const;
  const std::vector<FeatureInfo>& outputs() const;
  const std::vector<FeatureInfo>& states() const;
  // The outputs that hold a classifier's label and its probabilities; empty for other models.
  const std::string& predicted_feature_name() const;
  const std::string& predicted_probabilities_name() const;

  // A state for this function and for others of the model that declare no more states than it.
  State make_state() const;

  // All declared outputs by name, in their declared types; a scalar has the shape [1]. Image
  // features take an Image of the declared size, or a tensor of values from 0 to 255 in the
  // declared order of colors, which is also what image outputs are (uint8; float16 where declared).
  //
  // Throws InvalidArgument, before anything runs, for inputs that are unknown, missing or not as
  // declared, with what was expected, and for a state that lacks one of states(); LimitExceeded;
  // Cancelled; InvalidFile where an operation refuses its data (an index out of range); Device
  // where the device failed, as from then on for inputs of these shapes. The state is undefined
  // after an error while running.
  Values predict(const Values& inputs, State& state) const;
  // With a new state that is forgotten.
  Values predict(const Values& inputs) const;
  // Writes the outputs that `outputs` names into the tensors that it has for them: of the declared
  // types and of the shapes that come out, their own or wrapped memory, which may be that of
  // inputs. Other outputs are dropped. Throws InvalidArgument, before anything runs, for what is no
  // such tensor, for const memory, and where two elements share memory; afterwards, with nothing
  // written, for a shape that came out otherwise.
  void predict(const Values& inputs, State& state, Values& outputs) const;
  // The same, made ready to be done many times (api/call.h): what wrapped memory of inputs has then
  // goes in. Throws as both of these do before anything runs; values of inputs are looked at when
  // it runs.
  Call prepare(Values inputs, Values outputs) const;

  // How the last prediction was made, a line per step or interpreted operation; empty without
  // LoadOptions::trace. Waits for one that is on its way.
  std::string describe() const;

 private:
  friend class Call;
  friend class Model;
  struct Impl;
  explicit Function(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

class PIPPIN_API Model {
 public:
  // X.mlpackage. Throws NotFound, InvalidFile, Unsupported (a model that is no ML Program, named
  // with its kind), Io.
  static Model load(const std::filesystem::path& path, const LoadOptions& options = {});
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  std::vector<std::string> function_names() const;
  const std::string& default_function() const;
  const ModelMetadata& metadata() const;
  int num_threads() const;

  // Prepares a function to run: keep it. Throws NotFound; Unsupported (an operation, named with its
  // value and opset), InvalidFile where the program does not fit together.
  Function function() const { return function(default_function()); }
  Function function(std::string_view name) const;

  // The states of all functions: those that share a name are one. Throws Unsupported where two of
  // them have different shapes or types; Function::make_state() serves there.
  State make_state() const;

 private:
  struct Impl;
  explicit Model(std::shared_ptr<Impl> impl);
  friend class Call;
  friend class Function;
  std::shared_ptr<Impl> impl_;
};

}  // namespace pippin
