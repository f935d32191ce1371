// Pippin's public interface: runs any Core ML model that is an ML Program, a tabular model (trees,
// linear models, support vectors, vectorizers ...), a non-maximum suppression, or a pipeline of
// these.
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
  // Sets `precision` to Exact.
  ExactComputeOptions() { precision = Precision::Exact; }
};

// Adds to engine::ComputeOptions (precision, device ...).
struct LoadOptions : ExactComputeOptions {
  int num_threads = 0;  // the threads of every prediction; 0: one per core
  // The most elements of one value; a prediction that exceeds them ends with LimitExceeded.
  int64_t max_elements = int64_t{1} << 31;
  // The most iterations of all loops of a prediction together; likewise.
  int64_t max_iterations = 10'000'000;
  bool trace = false;  // records the data for Function::describe()
  // Used if `cache` is not set: the folder for a cache, created when something is stored. Processes
  // may share it, and it never makes a load fail.
  std::filesystem::path load_cache = {};
  uint64_t load_cache_bytes = 0;  // the limit of that folder; 0: 20 GB or a tenth of the disk
};

// The sizes that an axis may have.
struct SizeRange {
  int64_t lower = 0;  // inclusive
  int64_t upper = 0;  // inclusive; below 0: unbounded
};

// The order and type of an image's channels.
enum class ColorSpace : uint8_t { Grayscale, Rgb, Bgr, GrayscaleFloat16 };

// An input, output or state as the model declares it.
struct FeatureInfo {
  // The kinds of values.
  enum class Kind : uint8_t {
    MultiArray,
    Image,       // a tensor [1, 3, height, width]; gray images have one channel
    Int64,       // a tensor [1]
    Double,      // a tensor [1]
    String,      // a tensor [1]
    Dictionary,  // a Dictionary: the probabilities of a classifier, counts of words
    Sequence,    // not supported as a value
    State,
  };
  std::string name, description;  // the name, and the author's description, which may be empty
  Kind kind = Kind::MultiArray;   // the kind of value
  // The element type; for a dictionary, the type of its keys.
  DataType type = DataType::Float32;
  // The default shape. Empty if none is declared, as for outputs whose shape depends on the input.
  std::vector<int64_t> shape;
  std::vector<SizeRange> ranges;                        // the range of each axis, or none
  std::vector<std::vector<int64_t>> enumerated_shapes;  // the only shapes allowed, or none
  bool optional = false;                                // whether an input may be omitted
  double default_value = 0;               // value of an omitted input, in the default shape
  std::optional<ColorSpace> color_space;  // Image
  // An array [C] or [C, H, W] of a neural network model, which may also be given with all five
  // axes, [sequence, batch, C, H, W].
  bool leading_axes = false;
};

// Returns "float32 [1, 1..128]" or "image RGB 224 x 224", as in error messages.
PIPPIN_API std::string to_string(const FeatureInfo& feature);

// The inputs, outputs and states of a function.
struct FunctionInfo {
  std::string name;                                  // the name in the model
  std::vector<FeatureInfo> inputs, outputs, states;  // in the order of declaration
  // The names of a classifier's outputs for label and probabilities; empty for other models.
  std::string predicted_feature_name, predicted_probabilities_name;
};

// The model's kind, and the author's texts about it.
struct ModelMetadata {
  int specification_version = 0;                            // of Core ML's format
  std::string short_description, version, author, license;  // texts; empty if absent
  std::map<std::string, std::string> user_defined;          // further texts by key
  std::string kind;  // in Core ML's format: "mlProgram", "neuralNetworkClassifier" ...
};

// The model's memory between predictions, initially zeros. A state belongs to one sequence of
// predictions; only one prediction at a time may use it.
class PIPPIN_API State {
 public:
  State(State&&) noexcept;
  State& operator=(State&&) noexcept;
  ~State();

  // The arrays by name, type and shape.
  const std::vector<FeatureInfo>& features() const;
  // Returns a copy of an array. Throws NotFound.
  Tensor get(std::string_view name) const;
  // Copies `value` into an array. Throws NotFound; InvalidArgument for another shape, or for values
  // that Tensor::to() rejects.
  void set(std::string_view name, const Tensor& value);
  // Sets all arrays to zeros.
  void reset();
  // Returns the array in place, to be read and written while no prediction runs; its memory stays
  // valid as long as the tensor or a copy of it. Throws NotFound; Unsupported if the array is in
  // device memory.
  Tensor view(std::string_view name);
  // Returns a copy in separate memory. Throws LimitExceeded.
  State clone() const;
  // Saves all arrays as an .npz file, written completely or not at all. Throws Io.
  void save(const std::filesystem::path& path) const;
  // Loads all arrays from an .npz file. Throws Io, NotFound, InvalidFile, or InvalidArgument if
  // names, shapes or values do not fit; nothing is changed then.
  void load(const std::filesystem::path& path);

 private:
  friend class Call;
  friend class Function;
  friend class Model;
  struct Impl;
  explicit State(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;  // shared only with views
};

// A function of a model, ready to predict. Made by Model::function().
class PIPPIN_API Function {
 public:
  Function(Function&&) noexcept;
  Function& operator=(Function&&) noexcept;
  ~Function();

  // The name in the model.
  const std::string& name() const;
  // The declared inputs.
  const std::vector<FeatureInfo>& inputs() const;
  // The declared outputs.
  const std::vector<FeatureInfo>& outputs() const;
  // The declared states.
  const std::vector<FeatureInfo>& states() const;
  // The name of a classifier's output for the label; empty for other models.
  const std::string& predicted_feature_name() const;
  // The name of a classifier's output for probabilities; empty for other models.
  const std::string& predicted_probabilities_name() const;

  // Returns a new state for this function, and for others of the model that declare no further
  // states. Throws LimitExceeded.
  State make_state() const;

  // Returns all declared outputs by name, in their declared types; a scalar has the shape [1].
  // Dictionary features accept a Dictionary, with keys of the declared type or ones that convert to
  // it. Image features accept an Image of the declared size, or a tensor of values from 0 to 255 in
  // the declared order of colors, which is also the form of image outputs (uint8, or float16 if
  // declared). Input tensors are read in place: they must not be written meanwhile.
  //
  // Before running, throws InvalidArgument for inputs that are unknown, missing or not as declared
  // (the message names the expected value) and for a state that lacks one of states(). During the
  // run, throws LimitExceeded; Cancelled; InvalidFile if an operation rejects its data (an index
  // out of range) or a file of weights was written to since it was loaded; Device if the device
  // failed, which it then does for all inputs of these shapes. After such an error the contents of
  // the state are undefined.
  Values predict(const Values& inputs, State& state) const;
  // As above, with a new state, which is then discarded.
  Values predict(const Values& inputs) const;
  // Writes the outputs named in `outputs` into its tensors, which must have the declared types and
  // the shapes of the results; they may wrap memory, even that of inputs. Other outputs are
  // dropped. Before running, throws InvalidArgument for a tensor of another type, const memory, and
  // elements that share memory; afterwards, if a result has another shape, in which case nothing is
  // written.
  void predict(const Values& inputs, State& state, Values& outputs) const;
  // Prepares predict() to run many times (api/call.h): each run reads the current contents of the
  // inputs' wrapped memory. Throws the errors that the two functions above throw before running;
  // the values of inputs are checked in each run.
  Call prepare(Values inputs, Values outputs) const;
  // Prepares Call::predict(), without outputs.
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

// A loaded model: descriptions of its functions, and the parts that they share.
class PIPPIN_API Model {
 public:
  // Loads an .mlpackage, .mlmodelc or .mlmodel. Throws NotFound, InvalidFile, Io, InvalidArgument
  // for options out of range, or Unsupported for a model of another kind, naming the kind.
  static Model load(const std::filesystem::path& path, const LoadOptions& options = {});
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  // Returns the names of the functions.
  std::vector<std::string> function_names() const;
  // The function that function() prepares.
  const std::string& default_function() const;
  // Returns a function's declarations, without preparing it. Throws NotFound.
  FunctionInfo describe(std::string_view function) const;
  // The author's texts about the model.
  const ModelMetadata& metadata() const;
  // The threads of every prediction.
  int num_threads() const;

  // Prepares a function to run, which takes time: keep the result. Throws NotFound; Unsupported
  // (for an operation, with its name and opset); InvalidFile if the program is inconsistent.
  Function function() const { return function(default_function()); }
  Function function(std::string_view name) const;

  // Writes the model in the form of Core ML's compiler; `path` must end in .mlmodelc. The files
  // that it was read from may be gone. Throws Io, InvalidArgument.
  void compile(const std::filesystem::path& path) const;

  // Returns a state for all functions, in which states of the same name are shared. Throws
  // Unsupported if two of the same name differ in shape or type; use Function::make_state() then.
  State make_state() const;

 private:
  struct Impl;
  explicit Model(std::shared_ptr<Impl> impl);
  friend class Call;
  friend class Function;
  std::shared_ptr<Impl> impl_;
};

}  // namespace pippin
