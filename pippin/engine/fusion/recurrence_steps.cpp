#include "pippin/engine/fusion/recurrence_steps.h"

#include <algorithm>

#include "pippin/engine/fusion/carried_state.h"
#include "pippin/engine/fusion/recurrence_step.h"

namespace pippin::engine {

std::string RecurrenceStep::name() const {
  return fmt::format("{} ({})", what(), kernels_.name);
}

namespace {

constexpr int64_t kRows = 16;       // of a state that one job takes
constexpr int64_t kElements = 256;  // the same where each element is by itself

// views: results [tokens, features], state, steps, x, rates, keys, queries.
class SelectiveStep final : public RecurrenceStep {
 public:
  using RecurrenceStep::RecurrenceStep;

  void run(const StepContext& context) const noexcept override {
    const Operand& y = context.operands[0];
    const Operand& state = context.operands[1];
    const Operand& steps = context.operands[2];
    const Operand& x = context.operands[3];
    const Operand& rates = context.operands[4];
    const Operand& keys = context.operands[5];
    const Operand& queries = context.operands[6];
    const int64_t rows = state.shape[0], n = state.shape[1];
    const int64_t blocks = (rows + kRows - 1) / kRows;
    share(context, blocks, [&](int64_t begin, int64_t end, float* scratch) {
      for (int64_t job = begin; job < end; ++job) {
        const int64_t first = job * kRows, count = std::min(kRows, rows - first);
        const FloatRows own(state, first * state.strides[0], count, state.strides[0], n, scratch);
        kernels::RecurrenceArgs args{};
        args.state = own.data();
        args.state_stride = own.stride();
        args.x = x.floats() + first;
        args.x_stride = x.strides[0];
        args.keys = keys.floats();
        args.key_stride = keys.strides[0];
        args.queries = queries.floats();
        args.query_stride = queries.strides[0];
        args.y = y.floats() + first;
        args.y_stride = y.strides[0];
        args.rows = count;
        args.n = n;
        args.tokens = x.shape[0];
        kernels_.selective(args, {steps.floats() + first, steps.strides[0],
                                  rates.floats() + first * rates.strides[0], rates.strides[0]});
        own.store();
      }
    });
  }

 private:
  const char* what() const override { return "selective recurrence"; }
  int64_t scratch_floats() const override { return rounded(kRows * views[1].shape[1].upper()); }
};

// views: results [tokens, n], state [n], decay, x.
class LinearStep final : public RecurrenceStep {
 public:
  using RecurrenceStep::RecurrenceStep;

  void run(const StepContext& context) const noexcept override {
    const Operand& y = context.operands[0];
    const Operand& state = context.operands[1];
    const Operand& decay = context.operands[2];
    const Operand& x = context.operands[3];
    const int64_t n = state.shape[0];
    share(context, (n + kElements - 1) / kElements,
          [&](int64_t begin, int64_t end, float* scratch) {
            for (int64_t job = begin; job < end; ++job) {
              const int64_t first = job * kElements, count = std::min(kElements, n - first);
              const FloatRows own(state, first, 1, 0, count, scratch);
              kernels_.linear({own.data(), decay.floats() + first, x.floats() + first,
                               y.floats() + first, decay.strides[0], x.strides[0], y.strides[0],
                               count, x.shape[0]});
              own.store();
            }
          });
  }

 private:
  const char* what() const override { return "linear recurrence"; }
  int64_t scratch_floats() const override { return kElements; }
};

}  // namespace

View emit_selective(Builder& builder, const SelectiveViews& views) {
  View results = builder.allocate(Storage::F32, views.x.shape);
  builder.emit_step<SelectiveStep>(
      {results, views.state, views.steps, views.x, views.rates, views.keys, views.queries},
      builder.cpu());
  return results;
}

View emit_linear_recurrence(Builder& builder, const LinearViews& views) {
  View results = builder.allocate(Storage::F32, views.x.shape);
  builder.emit_step<LinearStep>({results, views.state, views.decay, views.x}, builder.cpu());
  return results;
}

}  // namespace pippin::engine
