// non_maximum_suppression: selects boxes by mil/ops/suppression.h.
#include <algorithm>

#include "pippin/engine/cpu/steps.h"

namespace pippin::engine {
namespace {

class SuppressionStep : public Step {
 public:
  explicit SuppressionStep(const mil::SuppressionRule& rule) : rule_(rule) {}
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
  // Copies row `from_row` of the second operand to row `row` of the first; writes zeros if it is
  // negative.
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

}  // namespace

StepPointer make_step_of(const SuppressionNode& node, const StepSource&) {
  return std::make_unique<SuppressionStep>(node.rule);
}

}  // namespace pippin::engine
