// A Core ML model package on disk and its interface description.
//
// read_package opens X.mlpackage (Manifest.json, Data/com.apple.CoreML/model.mlmodel,
// weights/*.bin) and gives a verified Program whose large constants are read from the mapped weight
// files only when they are used. write_package streams a Model into a new package, beside its
// place, and renames it. Facts: Core ML's Model.proto and MIL.proto field numbers, as listed in
// docs/format.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pippin/mil/program.h"

namespace pippin::mil {

// Inclusive; upper < 0 means unbounded.
struct SizeRange {
  int64_t lower = 0;
  int64_t upper = 0;
  bool operator==(const SizeRange&) const = default;
};

// An input, output or state as the model declares it to its callers.
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
  // The part of the protobuf message that this struct does not hold (images, defaults, ...):
  // written back as read.
  std::string raw;
};

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

struct Model {
  int32_t specification_version = 9;
  // One entry named "main" for single-function models; one per function for multifunction ones.
  std::vector<FunctionDescription> functions;
  bool multifunction = false;
  std::string default_function = "main";
  Metadata metadata;
  Program program;
  std::filesystem::path path;  // where it was read from, empty otherwise
  // The part of the protobuf message that this struct does not hold: written back as read.
  std::string raw;

  const FunctionDescription& description(std::string_view function) const;  // throws NotFound
};

// Throws InvalidFile, NotFound, Unsupported (a model kind that is not an ML Program is named with
// its version). Weight files that are absent are an error only when a weight is used.
Model read_package(const std::filesystem::path& path);

// A further file of the package: data/huggingface/tokenizer.json and the like. `item` is the folder
// under Data/ (listed in the manifest), `name` the file in it.
struct ExtraFile {
  std::string item;
  std::string name;
  std::string content;
};
inline constexpr std::string_view kTokenizerItem = "huggingface";

struct WriteOptions {
  std::vector<ExtraFile> extra_files;
  // Called every few megabytes with the bytes written so far and in all.
  std::function<void(uint64_t done, uint64_t total)> progress;
};

// Constants go to weights/weight.bin by coremltools' rule (10 or more elements of a blob type);
// equal sources are stored once. Memory stays bounded whatever the size. Polls check_cancel().
// `path` must end in .mlpackage.
void write_package(const Model& model, const std::filesystem::path& path,
                   const WriteOptions& options = {});

}  // namespace pippin::mil
