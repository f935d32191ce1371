#include "pippin/models/vision/classifier_package.h"

#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/families/package.h"

namespace pippin::models {
namespace {

using array::Array;

constexpr const char* kImage = "image";
constexpr const char* kLabel = "classLabel";
constexpr const char* kProbabilities = "classLabel_probs";
constexpr auto kFloat = mil::DataType::Float32;

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

mil::FunctionDescription interface_of(const image::VisionShape& shape) {
  mil::FunctionDescription function;
  function.name = families::kMain;
  mil::Feature image;
  image.name = kImage;
  image.description = "An image";
  image.kind = mil::Feature::Kind::Image;
  image.image.size = {shape.pixels.at(3), shape.pixels.at(2)};
  image.image.color_space = mil::ColorSpace::Rgb;
  function.inputs = {std::move(image)};
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

}  // namespace

mil::Model build_classifier_package(const VisionModel& model, const image::VisionShape& shape,
                                    const PixelScale& scale) {
  const std::vector<int64_t>& pixels = shape.pixels;
  const vision::VisionLabels& labels = model.labels();
  if (labels.names.empty()) fail(ErrorCode::InvalidArgument, "the model is not a classifier");
  if (pixels.size() != 4 || pixels[0] != 1 || pixels[1] != 3) {
    fail(ErrorCode::InvalidArgument, "pixel values ({}): one image of 3 channels is possible",
         fmt::join(pixels, ", "));
  }
  array::Builder builder;
  const Array input = builder.input(kImage, kFloat, mil::Shape(pixels.begin(), pixels.end()));
  const Array factors = array::constant(kFloat, {1, 3, 1, 1}, scale.factors, "pixel_factors");
  const Array addends = array::constant(kFloat, {1, 3, 1, 1}, scale.addends, "pixel_addends");
  const Array rows = model.record(input * factors + addends, shape);
  const Array logits = array::reshape(array::cast(rows, kFloat), {std::ssize(labels.names)});
  builder.output("probabilities",
                 labels.independent ? array::sigmoid(logits) : array::softmax(logits, -1));
  mil::Model package = model.empty_package(builder.opset());
  auto function = builder.build();
  add_labels(*function, labels.names);
  package.program.functions.emplace(families::kMain, std::move(function));
  package.functions.push_back(interface_of(shape));
  package.default_function = families::kMain;
  model.check_all_used();
  return package;
}

}  // namespace pippin::models
