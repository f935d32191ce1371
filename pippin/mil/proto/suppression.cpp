// Translates nonMaximumSuppression models into programs. Facts: Core ML's
// NonMaximumSuppression.proto.
#include <algorithm>

#include "coreml.pb.h"
#include "pippin/base/error.h"
#include "pippin/mil/proto/translation.h"

namespace pippin::mil {
namespace {

// Throws InvalidFile if no feature of this kind has that name.
const Feature& find(const std::vector<Feature>& features, const std::string& name,
                    std::string_view what) {
  for (const Feature& feature : features) {
    if (feature.name != name) continue;
    if (feature.kind == Feature::Kind::MultiArray) return feature;
    fail(ErrorCode::InvalidFile, "the {} '{}' is not an array", what, name);
  }
  fail(ErrorCode::InvalidFile, "no {} '{}', which nonMaximumSuppression names", what, name);
}

// A threshold stored in the model, or an optional input that overrides it.
class Threshold {
 public:
  Threshold(std::string name, double value) : name_(std::move(name)), value_(value) {}

  // Ultralytics' exporter declares these only as inputs of the pipeline.
  void declare(FunctionDescription& description) const {
    if (name_.empty()) return;
    auto& inputs = description.inputs;
    auto input = std::find_if(inputs.begin(), inputs.end(),
                              [&](const Feature& feature) { return feature.name == name_; });
    if (input == inputs.end()) {
      input = inputs.emplace(inputs.end());
      input->name = name_;
      input->kind = Feature::Kind::Double;
    }
    if (input->kind != Feature::Kind::Double) {
      fail(ErrorCode::InvalidFile, "the threshold '{}' is not a double", name_);
    }
    input->optional = true;
    input->default_value = value_;
  }

  Binding bind(Translation& to, const FunctionDescription& description) const {
    for (const Feature& input : description.inputs) {
      if (!name_.empty() && input.name == name_) {
        return to.add_input(input, DataType::Float64, {});
      }
    }
    return Value::of_float(DataType::Float64, value_);
  }

 private:
  std::string name_;
  double value_;
};

// The number of boxes in the result, from the outputs' shapes; one of the two is enough.
SizeRange rows_of(const Feature& confidence, const Feature& coordinates) {
  for (const Feature* output : {&confidence, &coordinates}) {
    if (output->ranges.size() == 2) return output->ranges[0];
    if (output->ranges.empty() && output->shape.size() == 2) {
      return {output->shape[0], output->shape[0]};
    }
  }
  return {0, -1};
}

void check_labels(const Feature& confidence, int64_t labels) {
  SizeRange columns{0, -1};
  if (confidence.ranges.size() == 2) {
    columns = confidence.ranges[1];
  } else if (confidence.shape.size() == 2) {
    columns = {confidence.shape[1], confidence.shape[1]};
  }
  if (labels < columns.lower || (columns.upper >= 0 && labels > columns.upper)) {
    fail(ErrorCode::InvalidFile, "{} class labels for {} columns of '{}'", labels,
         columns.lower == columns.upper ? fmt::format("{}", columns.lower)
                                        : fmt::format("{} to {}", columns.lower, columns.upper),
         confidence.name);
  }
}

ValueType matrix_type(const Var* like, int64_t rows) {
  return ValueType::tensor(like->type.data_type,
                           {rows, like->type.dims.empty() ? kUnknownDim : like->type.dims.back()});
}

}  // namespace

Program translate_suppression(const proto::BoxSuppression& message,
                              FunctionDescription& description) {
  const double iou = message.iou_threshold(), least = message.confidence_threshold();
  if (!(iou >= 0 && iou <= 1)) fail(ErrorCode::InvalidFile, "iouThreshold {}, not 0 to 1", iou);
  if (!(least >= 0)) fail(ErrorCode::InvalidFile, "confidenceThreshold {}, below 0", least);
  const auto name = [](const std::string& bytes) { return read_text(bytes, "a feature's name"); };
  const Threshold iou_threshold(name(message.iou_threshold_input()), iou);
  const Threshold confidence_threshold(name(message.confidence_threshold_input()), least);
  iou_threshold.declare(description);
  confidence_threshold.declare(description);

  const Feature &boxes = find(description.inputs, name(message.coordinates_input()), "input"),
                &scores = find(description.inputs, name(message.confidence_input()), "input"),
                &out_boxes =
                    find(description.outputs, name(message.coordinates_output()), "output"),
                &out_scores =
                    find(description.outputs, name(message.confidence_output()), "output");
  for (const Feature* feature : {&boxes, &scores, &out_boxes, &out_scores}) {
    if (!is_float(feature->data_type)) {
      fail(ErrorCode::InvalidFile, "'{}' holds {}, not floats", feature->name,
           to_string(feature->data_type));
    }
  }
  const SizeRange rows = rows_of(out_scores, out_boxes);

  Translation to(description);
  Var* confidence = to.add_input(scores, scores.data_type, {kUnknownDim, kUnknownDim});
  Var* coordinates = to.add_input(boxes, boxes.data_type, {kUnknownDim, 4});
  const Value labels = read_labels(message);
  Operation& pick = to.append(
      "pick_top_boxes", {{"confidence", {confidence}},
                         {"coordinates", {coordinates}},
                         {"iou_threshold", {iou_threshold.bind(to, description)}},
                         {"confidence_threshold", {confidence_threshold.bind(to, description)}},
                         {"per_class", {Value::of_bool(message.pick_top().per_class())}},
                         {"min_rows", {int64_value(rows.lower)}},
                         {"max_rows", {int64_value(rows.upper)}}});
  if (labels.type.list_length > 0) {
    check_labels(out_scores, labels.type.list_length);
    pick.inputs().emplace("classes", Argument{labels});
  }
  const int64_t count = rows.lower == rows.upper ? rows.lower : kUnknownDim;
  Var* picked = pick.add_output(out_scores.name, matrix_type(confidence, count));
  return to.finish({picked, pick.add_output(out_boxes.name, matrix_type(coordinates, count))});
}

}  // namespace pippin::mil
