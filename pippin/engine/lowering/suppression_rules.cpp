// non_maximum_suppression: the boxes that remain, by mil/ops/suppression.h.
#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/engine/lowering/rules.h"
#include "pippin/mil/ops/suppression.h"

namespace pippin::engine {
namespace {

// views: boxes [N, kept, 4], scores [N, kept, classes], indices int32 [N, kept], perhaps the
// numbers of them int32 [N], all written; boxes [N, count, 4], scores [N, count, classes] of any
// strides.
class SuppressionStep : public Step {
 public:
  SuppressionStep(mil::SuppressionRule rule, bool counts) : rule_(rule) {
    num_written = counts ? 4 : 3;
  }
  std::string name() const override { return "non_maximum_suppression"; }
  void run(const StepContext& context) const noexcept override {
    leave_errors(context, [&] {
      for (int64_t image = 0; image < context.operands[0].shape[0]; ++image) keep(context, image);
    });
  }

 private:
  static float* at(const Operand& operand, int64_t i, int64_t j, int64_t k) {
    return operand.floats() + i * operand.strides[0] + j * operand.strides[1] +
           k * operand.strides[2];
  }
  // Row `from_row` of the second operand to row `row` of the first; zeros where it is negative.
  static void copy_row(const Operand& to, const Operand& from, int64_t image, int64_t row,
                       int64_t from_row) {
    for (int64_t k = 0; k < to.shape[2]; ++k) {
      *at(to, image, row, k) = from_row < 0 ? 0 : *at(from, image, from_row, k);
    }
  }

  void keep(const StepContext& context, int64_t image) const {
    const Operand& boxes = context.operands[num_written];
    const Operand& scores = context.operands[num_written + 1];
    const int64_t count = boxes.shape[1];
    std::vector<double> numbers, own(static_cast<size_t>(scores.shape[2]));
    std::vector<mil::BoxCandidate> candidates;
    numbers.reserve(static_cast<size_t>(count * 4));
    candidates.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t k = 0; k < 4; ++k) numbers.push_back(double{*at(boxes, image, i, k)});
      for (size_t c = 0; c < own.size(); ++c) {
        own[c] = double{*at(scores, image, i, static_cast<int64_t>(c))};
      }
      candidates.push_back(mil::best_class_of(static_cast<size_t>(i), own.data(), own.size()));
    }
    const auto kept = mil::keep_boxes(numbers, std::move(candidates), rule_);
    const Operand& indices = context.operands[2];
    for (int64_t row = 0; row < indices.shape[1]; ++row) {
      const int64_t from =
          row < std::ssize(kept) ? static_cast<int64_t>(kept[static_cast<size_t>(row)]) : -1;
      copy_row(context.operands[0], boxes, image, row, from);
      copy_row(context.operands[1], scores, image, row, from);
      indices.ints()[image * indices.strides[0] + row] = static_cast<int32_t>(from);
    }
    if (num_written == 4) context.operands[3].ints()[image] = static_cast<int32_t>(kept.size());
  }

  mil::SuppressionRule rule_;
};

void non_maximum_suppression(Builder& builder, const mil::Operation& operation) {
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
  builder.emit_step<SuppressionStep>(std::move(views), rule, outputs.size() == 4);
  for (size_t i = 0; i < outputs.size(); ++i) builder.define(operation.output(i), outputs[i]);
}

}  // namespace

void add_suppression_rules(Rules& rules) {
  rules["non_maximum_suppression"] = non_maximum_suppression;
}

}  // namespace pippin::engine
