#include "pippin/engine/fusion/recurrence_steps.h"

#include <algorithm>
#include <cmath>

#include "pippin/engine/fusion/carried_state.h"
#include "pippin/kernels/recurrence/recurrence.h"

namespace pippin::engine {
namespace {

using mil::Dim;

constexpr int64_t kRows = 16;       // of a state that one job takes
constexpr int64_t kElements = 256;  // the same where each element is by itself

int64_t rounded(int64_t floats) {
  return (floats + 15) / 16 * 16;
}

class RecurrenceStep : public Step {
 public:
  explicit RecurrenceStep(const CpuFeatures& cpu) : kernels_(kernels::choose_recurrence(cpu)) {
    num_written = 2;
  }
  std::string name() const override { return fmt::format("{} ({})", what(), kernels_.name); }
  int64_t scratch_bytes() const override { return scratch_floats() * element_size(Storage::F32); }

 protected:
  virtual const char* what() const = 0;
  virtual int64_t scratch_floats() const = 0;
  // Calls body(begin, end, scratch) with shares of `jobs` on all threads.
  template <typename Body>
  void share(const StepContext& context, int64_t jobs, const Body& body) const {
    const int64_t scratch = scratch_floats();
    context.pool.run([&](int part, int parts) {
      const Range range = split_range(jobs, part, parts);
      if (range.begin >= range.end) return;
      body(range.begin, range.end, reinterpret_cast<float*>(context.scratch) + part * scratch);
    });
  }

  const kernels::RecurrenceKernels& kernels_;
};

// views: results [groups, heads, tokens, p], state, log_decay, x, keys, queries.
class DecayedStep final : public RecurrenceStep {
 public:
  using RecurrenceStep::RecurrenceStep;

  void run(const StepContext& context) const noexcept override {
    const Operand& y = context.operands[0];
    const Operand& state = context.operands[1];
    const Operand& log_decay = context.operands[2];
    const Operand& x = context.operands[3];
    const Operand& keys = context.operands[4];
    const Operand& queries = context.operands[5];
    const int64_t heads = state.shape[1], rows = state.shape[2], n = state.shape[3];
    const int64_t tokens = x.shape[2];
    const int64_t blocks = (rows + kRows - 1) / kRows;
    const int64_t decays = rounded(views[3].shape[2].upper());
    share(context, state.shape[0] * heads * blocks,
          [&](int64_t begin, int64_t end, float* scratch) {
            int64_t known = -1;  // whose decays are in scratch
            for (int64_t job = begin; job < end; ++job) {
              const int64_t head = job / blocks % heads, group = job / blocks / heads;
              if (known != job / blocks) {
                const float* logs =
                    log_decay.floats() + group * log_decay.strides[0] + head * log_decay.strides[1];
                for (int64_t t = 0; t < tokens; ++t)
                  scratch[t] = std::exp(logs[t * log_decay.strides[2]]);
                known = job / blocks;
              }
              const int64_t first = job % blocks * kRows, count = std::min(kRows, rows - first);
              const FloatRows own(
                  state,
                  group * state.strides[0] + head * state.strides[1] + first * state.strides[2],
                  count, state.strides[2], n, scratch + decays);
              kernels::RecurrenceArgs args{};
              args.state = own.data();
              args.state_stride = own.stride();
              args.x = x.floats() + group * x.strides[0] + head * x.strides[1] + first;
              args.x_stride = x.strides[2];
              args.keys = keys.floats() + group * keys.strides[0];
              args.key_stride = keys.strides[1];
              args.queries = queries.floats() + group * queries.strides[0];
              args.query_stride = queries.strides[1];
              args.y = y.floats() + group * y.strides[0] + head * y.strides[1] + first;
              args.y_stride = y.strides[2];
              args.rows = count;
              args.n = n;
              args.tokens = tokens;
              kernels_.decayed(args, scratch);
              own.store();
            }
          });
  }

 private:
  const char* what() const override { return "decayed products"; }
  int64_t scratch_floats() const override {
    return rounded(views[3].shape[2].upper()) + rounded(kRows * views[1].shape[3].upper());
  }
};

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

View emit_decayed(Builder& builder, const DecayedViews& views) {
  const mil::Shape& shape = views.x.shape;
  const View by_token = builder.allocate(Storage::F32, {shape[2], shape[0], shape[1], shape[3]});
  View results = transpose_view(by_token, {1, 2, 0, 3});
  builder.emit<DecayedStep>(
      {results, views.state, views.log_decay, views.x, views.keys, views.queries}, builder.cpu());
  return results;
}

View emit_selective(Builder& builder, const SelectiveViews& views) {
  View results = builder.allocate(Storage::F32, views.x.shape);
  builder.emit<SelectiveStep>(
      {results, views.state, views.steps, views.x, views.rates, views.keys, views.queries},
      builder.cpu());
  return results;
}

View emit_linear_recurrence(Builder& builder, const LinearViews& views) {
  View results = builder.allocate(Storage::F32, views.x.shape);
  builder.emit<LinearStep>({results, views.state, views.decay, views.x}, builder.cpu());
  return results;
}

}  // namespace pippin::engine
