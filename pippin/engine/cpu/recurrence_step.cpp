// Recurrences over tokens and the short convolutions before them.
#include "pippin/engine/cpu/recurrence_step.h"

#include <algorithm>
#include <cmath>

#include "pippin/base/numbers/float_convert.h"
#include "pippin/engine/cpu/steps.h"

namespace pippin::engine {

FloatRows::FloatRows(const Operand& state, int64_t first, int64_t rows, int64_t stride, int64_t n,
                     float* scratch)
    : state_(state.data + first * element_size(state.storage)),
      rows_(rows),
      state_stride_(stride),
      n_(n),
      copied_(state.storage == Storage::F16),
      data_(copied_ ? scratch : reinterpret_cast<float*>(state_)) {
  if (!copied_) return;
  for (int64_t row = 0; row < rows_; ++row) {
    convert_f16_to_f32(state_ + row * state_stride_ * element_size(Storage::F16),
                       reinterpret_cast<std::byte*>(data_ + row * n_), static_cast<size_t>(n_));
  }
}

void FloatRows::store() const {
  if (!copied_) return;
  for (int64_t row = 0; row < rows_; ++row) {
    convert_f32_to_f16(reinterpret_cast<const std::byte*>(data_ + row * n_),
                       state_ + row * state_stride_ * element_size(Storage::F16),
                       static_cast<size_t>(n_));
  }
}

namespace {

constexpr int64_t kRows = 16;       // of a state, in one job
constexpr int64_t kElements = 256;  // the same for independent elements
constexpr int64_t kPassFrom = 8;    // number of tokens from which other kernels are faster

// A state in fp16 is rounded after each token of a short pass: the tokens then have the same bits
// as in a pass each, which drafts depend on (runtime::Capabilities::equal_rows).
int64_t tokens_at_once(const Operand& state, int64_t tokens) {
  return state.storage == Storage::F16 && tokens < kPassFrom ? 1 : tokens;
}

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
        kernels::RecurrenceArgs args{};
        args.x_stride = x.strides[0];
        args.key_stride = keys.strides[0];
        args.query_stride = queries.strides[0];
        args.y_stride = y.strides[0];
        args.rows = count;
        args.n = n;
        args.tokens = tokens_at_once(state, x.shape[0]);
        for (int64_t t = 0; t < x.shape[0]; t += args.tokens) {
          const FloatRows own(state, first * state.strides[0], count, state.strides[0], n, scratch);
          args.state = own.data();
          args.state_stride = own.stride();
          args.x = x.floats() + first + t * x.strides[0];
          args.keys = keys.floats() + t * keys.strides[0];
          args.queries = queries.floats() + t * queries.strides[0];
          args.y = y.floats() + first + t * y.strides[0];
          kernels_.selective(args, {steps.floats() + first + t * steps.strides[0], steps.strides[0],
                                    rates.floats() + first * rates.strides[0], rates.strides[0]});
          own.store();
        }
      }
    });
  }

 private:
  int64_t scratch_floats() const override { return rounded(kRows * views[1].shape[1].upper()); }
};

class LinearStep final : public RecurrenceStep {
 public:
  using RecurrenceStep::RecurrenceStep;

  void run(const StepContext& context) const noexcept override {
    const Operand& y = context.operands[0];
    const Operand& state = context.operands[1];
    const Operand& decay = context.operands[2];
    const Operand& x = context.operands[3];
    const int64_t n = state.shape[0], tokens = x.shape[0];
    const int64_t once = tokens_at_once(state, tokens);
    share(context, (n + kElements - 1) / kElements,
          [&](int64_t begin, int64_t end, float* scratch) {
            for (int64_t job = begin; job < end; ++job) {
              const int64_t first = job * kElements, count = std::min(kElements, n - first);
              for (int64_t t = 0; t < tokens; t += once) {
                const FloatRows own(state, first, 1, 0, count, scratch);
                kernels_.linear({own.data(), decay.floats() + first + t * decay.strides[0],
                                 x.floats() + first + t * x.strides[0],
                                 y.floats() + first + t * y.strides[0], decay.strides[0],
                                 x.strides[0], y.strides[0], count, once});
                own.store();
              }
            }
          });
  }

 private:
  int64_t scratch_floats() const override { return kElements; }
};

constexpr int64_t kJobRows = kernels::kPassRows;  // of a state

// A state's rows for one job: in place if the kernel can read them there, else a copy in fp32.
class JobRows {
 public:
  JobRows(const Operand& state, int64_t first, int64_t rows, bool once, float* scratch)
      : in_halves_(once && state.storage == Storage::F16),
        halves_(in_halves_ ? reinterpret_cast<uint16_t*>(state.data) + first : nullptr),
        floats_(state, first, in_halves_ ? 0 : rows, state.strides[2], state.shape[3], scratch),
        stride_(in_halves_ ? state.strides[2] : floats_.stride()) {}
  void put_into(kernels::RecurrenceArgs& args) const {
    args.state = in_halves_ ? nullptr : floats_.data();
    args.halves = halves_;
    args.state_stride = stride_;
  }
  void store() const { floats_.store(); }

 private:
  bool in_halves_;
  uint16_t* halves_;
  FloatRows floats_;
  int64_t stride_;
};

class DecayedStep final : public RecurrenceStep {
 public:
  DecayedStep(const CpuFeatures& cpu, const DecayedNode& node) : RecurrenceStep(cpu), node_(node) {}

  void run(const StepContext& context) const noexcept override {
    const Operand& state = context.operands[1];
    const int64_t blocks = (state.shape[2] + kJobRows - 1) / kJobRows;
    share(context, state.shape[0] * state.shape[1] * blocks,
          [&](int64_t begin, int64_t end, float* scratch) {
            int64_t known = -1;  // whose numbers of each token are in scratch
            for (int64_t job = begin; job < end; ++job) {
              if (known != job / blocks) read_tokens(context, job / blocks, scratch);
              known = job / blocks;
              run_rows_of(context, known, job % blocks * kJobRows, scratch);
            }
          });
  }

 private:
  int64_t per_token() const { return rounded(views[3].shape[2].upper()); }
  int64_t scratch_floats() const override {
    const int64_t n = views[1].shape[3].upper();
    return 3 * per_token() + rounded(kJobRows * n) + rounded(kernels::pass_scratch(n));
  }

  // Copies the decays, rates and scales of a head's tokens next to each other.
  void read_tokens(const StepContext& context, int64_t place, float* scratch) const {
    const int64_t heads = context.operands[1].shape[1], tokens = context.operands[3].shape[2];
    const auto read = [&](size_t operand, float* out) {
      const Operand& from = context.operands[operand];
      const float* values =
          from.floats() + place / heads * from.strides[0] + place % heads * from.strides[1];
      for (int64_t t = 0; t < tokens; ++t) out[t] = values[t * from.strides[2]];
    };
    read(2, scratch);
    for (int64_t t = 0; t < tokens; ++t) scratch[t] = std::exp(scratch[t]);
    if (node_.has_rates) read(node_.rates_view(), scratch + per_token());
    if (node_.has_scales) read(node_.scales_view(), scratch + 2 * per_token());
  }

  void run_rows_of(const StepContext& context, int64_t place, int64_t first, float* scratch) const {
    const Operand& y = context.operands[0];
    const Operand& state = context.operands[1];
    const Operand& x = context.operands[3];
    const Operand& keys = context.operands[4];
    const Operand& queries = context.operands[5];
    const int64_t group = place / state.shape[1], head = place % state.shape[1];
    kernels::RecurrenceArgs args{};
    args.rows = std::min(kJobRows, state.shape[2] - first);
    args.n = state.shape[3];
    args.tokens = tokens_at_once(state, x.shape[2]);
    args.x_stride = x.strides[2];
    args.key_stride = keys.strides[1];
    args.query_stride = queries.strides[1];
    args.y_stride = y.strides[2];
    if (node_.has_skip) {
      const Operand& skip = context.operands[node_.skip_view()];
      args.skip = skip.floats() + group * skip.strides[0] + head * skip.strides[1];
    }
    float* copy = scratch + 3 * per_token();
    for (int64_t t = 0; t < x.shape[2]; t += args.tokens) {
      const JobRows rows(
          state, group * state.strides[0] + head * state.strides[1] + first * state.strides[2],
          args.rows, args.tokens == 1, copy);
      rows.put_into(args);
      args.x = x.floats() + group * x.strides[0] + head * x.strides[1] + first + t * args.x_stride;
      args.keys = keys.floats() + group * keys.strides[0] + t * args.key_stride;
      args.queries = queries.floats() + group * queries.strides[0] + t * args.query_stride;
      args.y = y.floats() + group * y.strides[0] + head * y.strides[1] + first + t * args.y_stride;
      if (node_.has_scales) args.scales = scratch + 2 * per_token() + t;
      run_tokens(args, scratch + t, copy + rounded(kJobRows * views[1].shape[3].upper()));
      rows.store();
    }
  }

  // `numbers`: the decays, and the rates behind them, from the first of the tokens on.
  void run_tokens(const kernels::RecurrenceArgs& args, const float* numbers, float* rest) const {
    const kernels::DeltaDecay delta = {numbers, numbers + per_token()};
    const bool pass = args.tokens >= kPassFrom;
    if (node_.has_rates) {
      pass ? kernels_.delta_pass(args, delta, rest) : kernels_.delta(args, delta);
    } else {
      pass ? kernels_.decayed_pass(args, numbers, rest) : kernels_.decayed(args, numbers);
    }
  }

  const DecayedNode& node_;
};

constexpr int64_t kFeatures = 128;  // in one job
class CausalConvolutionStep : public Step {
 public:
  CausalConvolutionStep(const CpuFeatures& cpu, const CausalConvolutionNode& node)
      : kernels_(kernels::choose_recurrence(cpu)), node_(node) {}
  std::string kernel_name() const override { return kernels_.name; }
  int64_t scratch_bytes() const override {
    return kFeatures * views[3].shape[0].upper() * element_size(Storage::F32);
  }

  void run(const StepContext& context) const noexcept override {
    const Operand& y = context.operands[0];
    const Operand& state = context.operands[1];
    const Operand& x = context.operands[2];
    const Operand& weight = context.operands[3];
    const int64_t kept = state.shape[0], features = state.shape[1], tokens = x.shape[0];
    const int64_t once = tokens_at_once(state, tokens);
    const float* bias = context.operands.size() > 4 ? context.operands[4].floats() : nullptr;
    const int64_t blocks = (features + kFeatures - 1) / kFeatures;
    context.pool.run([&](int part, int parts) {
      float* scratch = reinterpret_cast<float*>(context.scratch + part * scratch_bytes());
      const Range share = split_range(blocks, part, parts);
      for (int64_t block = share.begin; block < share.end; ++block) {
        const int64_t first = block * kFeatures, count = std::min(kFeatures, features - first);
        for (int64_t t = 0; t < tokens; t += once) {
          const FloatRows past(state, first, kept, state.strides[0], count, scratch);
          const float* own = x.floats() + first + t * x.strides[0];
          kernels_.convolution(
              {past.data(), own, weight.floats() + first, bias == nullptr ? nullptr : bias + first,
               y.floats() + first + t * y.strides[0], past.stride(), x.strides[0],
               weight.strides[0], y.strides[0], count, kept + 1, once, node_.has_silu});
          // Row `once` and the rows after it, of the past followed by x.
          for (int64_t k = 0; k < kept; ++k) {
            const int64_t row = once + k;
            const float* from =
                row < kept ? past.data() + row * past.stride() : own + (row - kept) * x.strides[0];
            std::copy_n(from, count, past.data() + k * past.stride());
          }
          past.store();
        }
      }
    });
  }

 private:
  const kernels::RecurrenceKernels& kernels_;
  const CausalConvolutionNode& node_;
};

}  // namespace

StepPointer make_step_of(const CausalConvolutionNode& node, const StepSource& source) {
  return std::make_unique<CausalConvolutionStep>(source.cpu(), node);
}
StepPointer make_step_of(const DecayedNode& node, const StepSource& source) {
  return std::make_unique<DecayedStep>(source.cpu(), node);
}
StepPointer make_step_of(const LinearRecurrenceNode&, const StepSource& source) {
  return std::make_unique<LinearStep>(source.cpu());
}
StepPointer make_step_of(const SelectiveNode&, const StepSource& source) {
  return std::make_unique<SelectiveStep>(source.cpu());
}

}  // namespace pippin::engine
