// A Core ML model: the interface that it declares to callers, and the programs that compute it.
// Source of the facts: Core ML's Model.proto and FeatureTypes.proto, as listed in docs/format.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pippin/mil/model_kind.h"
#include "pippin/mil/program.h"

namespace pippin::tabular {
class Stage;
}  // namespace pippin::tabular

namespace pippin::mil {

// Inclusive; upper < 0 means unbounded.
struct SizeRange {
  int64_t lower = 0;
  int64_t upper = 0;
  bool operator==(const SizeRange&) const = default;
};

// FeatureTypes.proto, ImageFeatureType.ColorSpace; the enum's values are the format's numbers.
enum class ColorSpace : uint8_t {
  Unknown = 0,
  Grayscale = 10,
  Rgb = 20,
  Bgr = 30,
  GrayscaleFloat16 = 40
};

struct ImageSize {
  int64_t width = 0;
  int64_t height = 0;
  bool operator==(const ImageSize&) const = default;
};

// In the program an image is a float tensor [1, 3, height, width]; a gray image has one channel.
struct ImageType {
  ImageSize size;  // the default size
  ColorSpace color_space = ColorSpace::Unknown;
  std::vector<ImageSize> enumerated_sizes;
  std::optional<SizeRange> width_range, height_range;  // both or neither
  bool operator==(const ImageType&) const = default;
};

// The value that fills an optional MultiArray when it is absent; the alternative is the field of
// ArrayFeatureType that the file uses.
using FeatureDefault = std::variant<std::monostate, int64_t, float, double>;

// An input, output or state, as the model declares it to its callers.
struct Feature {
  enum class Kind : uint8_t {
    MultiArray,
    Image,
    State,
    Int64,
    Double,
    String,
    Dictionary,
    Sequence
  };
  std::string name;
  std::string description;
  Kind kind = Kind::MultiArray;
  bool optional = false;
  // MultiArray, State:
  DataType data_type = DataType::Float32;  // Float16 Float32 Float64 Int32 Int8
  std::vector<int64_t> shape;              // the default shape
  std::vector<SizeRange> ranges;           // one per axis where the shape is a range, else empty
  std::vector<std::vector<int64_t>> enumerated_shapes;
  FeatureDefault default_value;
  // An array of channels, or of channels, rows and columns, may have two axes in front: sequence
  // and batch, as in neural network models.
  bool has_leading_axes = false;
  // The file declares it as required. It is optional nevertheless: a stage has a default for it.
  bool declared_required = false;
  ImageType image;           // Image
  bool string_keys = false;  // Dictionary: the keys are strings, else int64 (values are doubles)
  // The fields of the protobuf message that this struct does not hold (sequences, ...), written
  // back unchanged.
  std::string raw;
};

// A MultiArray.
Feature array_feature(std::string name, std::string description, DataType type,
                      std::vector<int64_t> shape = {}, std::vector<SizeRange> ranges = {});
Feature state_feature(std::string name, DataType type, std::vector<int64_t> shape);

struct FunctionDescription {
  std::string name;
  std::vector<Feature> inputs, outputs, states;
  std::string predicted_feature_name, predicted_probabilities_name;
  std::string raw;  // as Feature::raw
};

struct Metadata {
  std::string short_description, version, author, license;
  std::map<std::string, std::string> user_defined;
};

struct PipelineStage;

// An ML Program; a model of another kind that is translated into a program when read; a tabular
// model (trees, vectorizers ..., and kinds that can only be shown); or a pipeline of such models. A
// pipeline has one description, "main", of its own inputs and outputs, and no program: its stages
// run in order, and each takes its inputs by name from the pipeline's inputs and the outputs of
// earlier stages.
struct Model {
  ModelKind kind = ModelKind::MlProgram;
  int32_t specification_version = 9;
  // One entry named "main" for single-function models; one per function for multifunction ones.
  std::vector<FunctionDescription> functions;
  bool multifunction = false;
  std::string default_function = "main";
  Metadata metadata;
  Program program;                    // without functions in a pipeline or tabular model
  std::vector<PipelineStage> stages;  // of a pipeline; never empty
  std::shared_ptr<const tabular::Stage> tabular;  // of a tabular model; otherwise null
  std::filesystem::path
      path;  // the file it was read from, if it is unchanged since; otherwise empty
  // The fields of the protobuf message that this struct does not hold, written back unchanged.
  std::string raw;
  // Of a neural network, which became an ML Program when it was read: the kind and the version in
  // the file ("neuralNetworkClassifier", 1). Empty and 0 for other models.
  std::string network_kind;
  int32_t network_version = 0;
  // Of a translated or tabular model: the whole message, written back unchanged (except for
  // `metadata`).
  std::string translated_from;

  bool is_pipeline() const { return is_pipeline_kind(kind); }
  bool is_tabular() const { return tabular != nullptr; }
  bool has_program() const { return !is_pipeline() && !is_tabular(); }
  // The model's message is written unchanged, not its program. The program, if any, is the
  // translation of a model of another kind, in fp64.
  bool is_translated() const { return kind != ModelKind::MlProgram && !is_pipeline(); }
  const FunctionDescription& description(std::string_view function) const;  // throws NotFound
};

struct PipelineStage {
  std::string name;  // as in the file; may be empty
  Model model;
};

// "stage 1 'detector'", for messages.
std::string stage_name(const Model& pipeline, size_t index);

}  // namespace pippin::mil
