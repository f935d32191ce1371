#include "pippin/models/vision/image_package.h"

#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/families/package.h"
#include "pippin/nn/vision/grid_rows.h"

namespace pippin::models {
namespace {

using array::Array;

constexpr const char* kImage = "image";
constexpr const char* kLabel = "classLabel";
constexpr const char* kProbabilities = "classLabel_probs";
constexpr auto kFloat32 = mil::DataType::Float32;

mil::Value list_of(const std::vector<std::string>& names) {
  mil::Value list;
  list.type.kind = mil::ValueType::Kind::List;
  list.type.parameters = {mil::ValueType::scalar(mil::DataType::String)};
  list.type.list_length = std::ssize(names);
  list.elements.reserve(names.size());
  for (const std::string& name : names) list.elements.push_back(mil::Value::of_string(name));
  return list;
}

// Replaces the function's output, the probabilities, by the most probable label and a dictionary.
void add_labels(mil::Function& function, const std::vector<std::string>& names) {
  mil::Block& block = function.block();
  mil::Operation& list = block.append("const");
  list.attributes().emplace("name", mil::Value::of_string("classes"));
  const mil::Value& value = list.attributes().emplace("val", list_of(names)).first->second;
  mil::Var* const classes = list.add_output("classes", value.type);
  mil::Operation& classify = block.append("classify");
  classify.attributes().emplace("name", mil::Value::of_string("classify"));
  classify.inputs()["probabilities"].emplace_back(block.outputs().front());
  classify.inputs()["classes"].emplace_back(classes);
  mil::ValueType dictionary;
  dictionary.kind = mil::ValueType::Kind::Dictionary;
  dictionary.parameters = {mil::ValueType::scalar(mil::DataType::String),
                           mil::ValueType::scalar(mil::DataType::Float64)};
  mil::Var* const label =
      classify.add_output(kLabel, mil::ValueType::scalar(mil::DataType::String));
  block.outputs() = {label, classify.add_output(kProbabilities, std::move(dictionary))};
}

mil::Feature image_feature(const image::VisionShape& shape) {
  mil::Feature image;
  image.name = kImage;
  image.description = "An image";
  image.kind = mil::Feature::Kind::Image;
  image.image.size = {shape.pixels.at(3), shape.pixels.at(2)};
  image.image.color_space = mil::ColorSpace::Rgb;
  return image;
}

mil::FunctionDescription interface_of(const image::VisionShape& shape) {
  mil::FunctionDescription function;
  function.name = families::kMain;
  function.inputs = {image_feature(shape)};
  mil::Feature label, probabilities;
  label.name = function.predicted_feature_name = kLabel;
  label.description = "The most probable label";
  label.kind = mil::Feature::Kind::String;
  probabilities.name = function.predicted_probabilities_name = kProbabilities;
  probabilities.description = "The probability of each label";
  probabilities.kind = mil::Feature::Kind::Dictionary;
  probabilities.string_keys = true;
  function.outputs = {std::move(label), std::move(probabilities)};
  return function;
}

// The rows of a map as planes, under the name that transformers has for them.
mil::FunctionDescription add_map(array::Builder& builder, const Array& rows,
                                 const VisionModel& model, const image::VisionShape& shape) {
  const bool labels = model.result() == vision::VisionResult::LabelMap;
  const char* const name = labels ? "logits" : "predicted_depth";
  const int64_t height = shape.sizes.at(1), width = shape.sizes.at(2);
  std::vector<int64_t> dims = {1, height, width};
  if (labels) dims.insert(dims.begin() + 1, std::ssize(model.labels().names));
  const Array planes = nn::planes_of_rows(array::cast(rows, kFloat32), {height, width});
  builder.output(name, labels ? planes : array::squeeze(planes, {1}));
  mil::FunctionDescription function;
  function.name = families::kMain;
  function.inputs = {image_feature(shape)};
  function.outputs = {mil::array_feature(
      name, labels ? "A logit of each label at each place" : "The depth at each place", kFloat32,
      dims)};
  return function;
}

}  // namespace

mil::Model build_image_package(const VisionModel& model, const image::VisionShape& shape,
                               const PixelScale& scale) {
  const std::vector<int64_t>& pixels = shape.pixels;
  const vision::VisionLabels& labels = model.labels();
  const bool maps = vision::is_map(model.result());
  if (!maps && labels.names.empty()) {
    fail(ErrorCode::InvalidArgument, "the model gives neither labels nor maps");
  }
  if (pixels.size() != 4 || pixels[0] != 1 || pixels[1] != 3) {
    fail(ErrorCode::InvalidArgument, "pixel values ({}): one image of 3 channels is possible",
         fmt::join(pixels, ", "));
  }
  array::Builder builder;
  const Array input = builder.input(kImage, kFloat32, mil::Shape(pixels.begin(), pixels.end()));
  const Array factors = array::constant(kFloat32, {1, 3, 1, 1}, scale.factors, "pixel_factors");
  const Array addends = array::constant(kFloat32, {1, 3, 1, 1}, scale.addends, "pixel_addends");
  const Array rows = model.record(input * factors + addends, shape);
  mil::FunctionDescription description;
  if (maps) {
    description = add_map(builder, rows, model, shape);
  } else {
    const Array logits = array::reshape(array::cast(rows, kFloat32), {std::ssize(labels.names)});
    builder.output("probabilities",
                   labels.independent ? array::sigmoid(logits) : array::softmax(logits, -1));
    description = interface_of(shape);
  }
  mil::Model package = model.empty_package(builder.opset());
  auto function = builder.build();
  if (!maps) add_labels(*function, labels.names);
  package.program.functions.emplace(families::kMain, std::move(function));
  package.functions.push_back(std::move(description));
  package.default_function = families::kMain;
  model.check_all_used();
  return package;
}

}  // namespace pippin::models
