// non_maximum_suppression: selects boxes by mil/ops/suppression.h.
#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/engine/lowering/rules.h"
#include "pippin/mil/ops/suppression.h"

namespace pippin::engine {
namespace {

void non_maximum_suppression(Builder& builder, const mil::Operation& operation) {
  for (const char* name : {"iou_threshold", "score_threshold", "max_boxes"}) {
    if (operation.find_input(name) == nullptr || operation.constant_input(name) != nullptr)
      continue;
    fail(ErrorCode::Unsupported, "{}: {} is not a constant", builder.where(operation), name);
  }
  // Since CoreML7 the boxes come last.
  const bool last = builder.opset() >= mil::Opset::CoreML7;
  const auto boxes_first = [&](const View& view) {
    return last ? transpose_view(view, {0, 2, 1}) : view;
  };
  const View boxes = boxes_first(builder.floats(operation, "boxes"));
  const View scores = boxes_first(builder.floats(operation, "scores"));
  if (scores.shape[2].lower() < 1) {
    fail(ErrorCode::Unsupported, "{}: boxes without scores", builder.where(operation));
  }
  mil::SuppressionRule rule;
  rule.iou_threshold = float_param(builder, operation, "iou_threshold");
  if (!last) rule.score_threshold = float_param(builder, operation, "score_threshold");
  rule.per_class = bool_param(builder, operation, "per_class_suppression");
  rule.overlap = last ? mil::Overlap::SingleOrEqual : mil::Overlap::Single;
  rule.limit = static_cast<size_t>(int_param(builder, operation, "max_boxes"));
  std::vector<View> outputs, views;
  for (const auto& output : operation.outputs()) {
    const mil::ValueInfo& info = builder.info(output.get());
    outputs.push_back(builder.allocate(run_storage(info.type), info.shape));
    views.push_back(outputs.size() <= 2 ? boxes_first(outputs.back()) : outputs.back());
  }
  views.push_back(boxes);
  views.push_back(scores);
  builder.emit(SuppressionNode{rule}, std::move(views), outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) builder.define(operation.output(i), outputs[i]);
}

}  // namespace

void add_suppression_rules(Rules& rules) {
  rules["non_maximum_suppression"] = non_maximum_suppression;
}

}  // namespace pippin::engine
