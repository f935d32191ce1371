// Pippin's public interface: runs any Core ML model that is an ML Program, a GLM, a feature
// vectorizer, a non-maximum suppression, or a pipeline of these.
//
//   pippin::Model model = pippin::Model::load("X.mlpackage");
//   pippin::Function function = model.function();
//   pippin::State state = function.make_state();
//   pippin::Values outputs = function.predict({{"x", tensor}}, state);
//
// Function::prepare() is for predicting many times from the same memory into the same memory.
//
// Errors are thrown as pippin::Error (base/exception.h). Objects are cheap to move; a Function
// keeps the parts of its Model that it needs alive. Predictions of one model run one after another,
// whichever threads request them, each on all threads of the model; different models do not wait
// for each other. A call that waits can be cancelled (base/threads/cancel.h).
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

// Computation is as exact as the package, unless the caller asks for less.
struct ExactComputeOptions : engine::ComputeOptions {
  ExactComputeOptions() { precision = Precision::Exact; }
};

// Adds to engine::ComputeOptions (precision, device ...).
struct LoadOptions : ExactComputeOptions {
  int num_threads = 0;  // 0: one per core
  // A prediction that exceeds one of these ends with LimitExceeded.
  int64_t max_elements = int64_t{1} << 31;  // of one value
  int64_t max_iterations = 10'000'000;      // for all loops of a prediction together
  bool trace = false;                       // records the data for Function::describe()
  // Used if `cache` is not set: the folder for a cache, created when something is stored. Processes
  // may share it, and it never makes a load fail.
  std::filesystem::path load_cache = {};
  uint64_t load_cache_bytes = 0;  // limit; 0: 20 GB or a tenth of the disk
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
    Image,       // a tensor [1, 3, height, width]; gray images have one channel
    Int64,       // a tensor [1]
    Double,      // a tensor [1]
    String,      // a tensor [1]
    Dictionary,  // the probabilities of a classifier
    Sequence,    // not supported as a value
    State,
  };
  std::string name, description;
  Kind kind = Kind::MultiArray;
  DataType type = DataType::Float32;  // for a dictionary, the type of its keys
  // The default shape. Empty if none is declared, as for outputs whose shape depends on the input.
  std::vector<int64_t> shape;
  std::vector<SizeRange> ranges;                        // one per axis, or none
  std::vector<std::vector<int64_t>> enumerated_shapes;  // the only shapes allowed, or none
  bool optional = false;                                // an input that may be omitted
  double default_value = 0;               // value of an omitted input, in the default shape
  std::optional<ColorSpace> color_space;  // Image
};

// "float32 [1, 1..128]", "image RGB 224 x 224", as in error messages.
PIPPIN_API std::string to_string(const FeatureInfo& feature);

// The inputs, outputs and states of a function.
struct FunctionInfo {
  std::string name;
  std::vector<FeatureInfo> inputs, outputs, states;
  // The names of a classifier's outputs for label and probabilities; empty for other models.
  std::string predicted_feature_name, predicted_probabilities_name;
};

struct ModelMetadata {
  int specification_version = 0;
  std::string short_description, version, author, license;
  std::map<std::string, std::string> user_defined;
};

// The model's memory between predictions, initially zeros. A state belongs to one sequence of
// predictions; only one prediction at a time may use it.
class PIPPIN_API State {
 public:
  State(State&&) noexcept;
  State& operator=(State&&) noexcept;
  ~State();

  const std::vector<FeatureInfo>& features() const;
  Tensor get(std::string_view name) const;  // throws NotFound
  // Throws NotFound; InvalidArgument for another shape, or for values that Tensor::to() rejects.
  void set(std::string_view name, const Tensor& value);
  void reset();  // back to zeros
  // The array in place, to be read and written while no prediction runs; its memory stays valid as
  // long as the tensor or a copy of it. Throws NotFound; Unsupported if the array is in device
  // memory.
  Tensor view(std::string_view name);
  // A copy in separate memory. Throws LimitExceeded.
  State clone() const;
  // Save all arrays as an .npz file, written completely or not at all, and load them. Throw Io and,
  // for a file, NotFound, InvalidFile, or InvalidArgument if its names, shapes or values do not
  // fit; nothing is changed then.
  void save(const std::filesystem::path& path) const;
  void load(const std::filesystem::path& path);

 private:
  friend class Call;
  friend class Function;
  friend class Model;
  struct Impl;
  explicit State(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;  // shared only with views
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
  // The names of a classifier's outputs for label and probabilities; empty for other models.
  const std::string& predicted_feature_name() const;
  const std::string& predicted_probabilities_name() const;

  // A state for this function, and for others of the model that declare no further states.
  State make_state() const;

  // Returns all declared outputs by name, in their declared types; a scalar has the shape [1].
  // Image features accept an Image of the declared size, or a tensor of values from 0 to 255 in the
  // declared order of colors, which is also the form of image outputs (uint8, or float16 if
  // declared). Input tensors are read in place: they must not be written meanwhile.
  //
  // Before running, throws InvalidArgument for inputs that are unknown, missing or not as declared
  // (the message says what was expected) and for a state that lacks one of states(). During the
  // run, throws LimitExceeded; Cancelled; InvalidFile if an operation rejects its data (an index
  // out of range) or a file of weights was written to since it was loaded; Device if the device
  // failed, which it then does for all inputs of these shapes. After such an error the contents of
  // the state are undefined.
  Values predict(const Values& inputs, State& state) const;
  // Uses a new state, which is then discarded.
  Values predict(const Values& inputs) const;
  // Writes the outputs named in `outputs` into its tensors, which must have the declared types and
  // the shapes of the results; they may wrap memory, even that of inputs. Other outputs are
  // dropped. Before running, throws InvalidArgument for a tensor of another type, const memory, and
  // elements that share memory; afterwards, if a result has another shape, in which case nothing is
  // written.
  void predict(const Values& inputs, State& state, Values& outputs) const;
  // The same, prepared to run many times (api/call.h): each run reads the current contents of the
  // inputs' wrapped memory. Throws the errors that the two functions above throw before running;
  // the values of inputs are checked in each run.
  Call prepare(Values inputs, Values outputs) const;
  // For Call::predict().
  Call prepare(Values inputs) const;

  // Describes the last prediction, one line per step or interpreted operation; empty without
  // LoadOptions::trace. Waits for a prediction that is running.
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
  // Loads an .mlpackage, .mlmodelc or .mlmodel. Throws NotFound, InvalidFile, Io, or Unsupported
  // for a model of another kind, naming the kind.
  static Model load(const std::filesystem::path& path, const LoadOptions& options = {});
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  std::vector<std::string> function_names() const;
  const std::string& default_function() const;
  // Available without preparing the function. Throws NotFound.
  FunctionInfo describe(std::string_view function) const;
  const ModelMetadata& metadata() const;
  int num_threads() const;

  // Prepares a function to run, which takes time: keep the result. Throws NotFound; Unsupported
  // (for an operation, with its name and opset); InvalidFile if the program is inconsistent.
  Function function() const { return function(default_function()); }
  Function function(std::string_view name) const;

  // Writes the model in the form of Core ML's compiler; `path` must end in .mlmodelc. The files
  // that it was read from may be gone. Throws Io, InvalidArgument.
  void compile(const std::filesystem::path& path) const;

  // A state for all functions, in which states of the same name are shared. Throws Unsupported if
  // two of the same name differ in shape or type; use Function::make_state() then.
  State make_state() const;

 private:
  struct Impl;
  explicit Model(std::shared_ptr<Impl> impl);
  friend class Call;
  friend class Function;
  std::shared_ptr<Impl> impl_;
};

}  // namespace pippin
