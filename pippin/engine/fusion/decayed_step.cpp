#include "pippin/engine/fusion/decayed_step.h"

#include <algorithm>
#include <cmath>

#include "pippin/engine/fusion/carried_state.h"
#include "pippin/engine/fusion/recurrence_step.h"

namespace pippin::engine {
namespace {

constexpr int64_t kJobRows = kernels::kPassRows;  // of a state
constexpr int64_t kPassFrom = 8;                  // tokens from which the pass kernels are quicker

// A state's rows for one job: where they lie if the kernel can read them there, else in fp32.
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

// views: results [groups, heads, tokens, p], state, log_decay, x, keys, queries, and those of
// rates, scales and skip that there are.
class DecayedStep final : public RecurrenceStep {
 public:
  DecayedStep(const CpuFeatures& cpu, bool rates, bool scales)
      : RecurrenceStep(cpu), rates_(rates ? 6 : 0), scales_(scales ? (rates ? 7 : 6) : 0) {}

  bool has_skip() const { return skip_ > 0; }
  void add_skip(size_t view) { skip_ = view; }

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
  const char* what() const override { return rates_ > 0 ? "delta products" : "decayed products"; }
  int64_t per_token() const { return rounded(views[3].shape[2].upper()); }
  int64_t scratch_floats() const override {
    const int64_t n = views[1].shape[3].upper();
    return 3 * per_token() + rounded(kJobRows * n) + rounded(kernels::pass_scratch(n));
  }

  // The decays, rates and scales of a head's tokens, side by side.
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
    if (rates_ > 0) read(rates_, scratch + per_token());
    if (scales_ > 0) read(scales_, scratch + 2 * per_token());
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
    args.tokens = x.shape[2];
    float* copy = scratch + 3 * per_token();
    const JobRows rows(
        state, group * state.strides[0] + head * state.strides[1] + first * state.strides[2],
        args.rows, args.tokens == 1, copy);
    rows.put_into(args);
    args.x = x.floats() + group * x.strides[0] + head * x.strides[1] + first;
    args.x_stride = x.strides[2];
    args.keys = keys.floats() + group * keys.strides[0];
    args.key_stride = keys.strides[1];
    args.queries = queries.floats() + group * queries.strides[0];
    args.query_stride = queries.strides[1];
    args.y = y.floats() + group * y.strides[0] + head * y.strides[1] + first;
    args.y_stride = y.strides[2];
    if (scales_ > 0) args.scales = scratch + 2 * per_token();
    if (skip_ > 0) {
      const Operand& skip = context.operands[skip_];
      args.skip = skip.floats() + group * skip.strides[0] + head * skip.strides[1];
    }
    const kernels::DeltaDecay delta = {scratch, scratch + per_token()};
    float* rest = copy + rounded(kJobRows * views[1].shape[3].upper());
    const bool pass = args.tokens >= kPassFrom;
    if (rates_ > 0) {
      pass ? kernels_.delta_pass(args, delta, rest) : kernels_.delta(args, delta);
    } else {
      pass ? kernels_.decayed_pass(args, scratch, rest) : kernels_.decayed(args, scratch);
    }
    rows.store();
  }

  size_t rates_, scales_, skip_ = 0;  // their places among the views, 0: none
};

}  // namespace

View emit_decayed(Builder& builder, const DecayedViews& views) {
  const mil::Shape& shape = views.x.shape;
  const View by_token = builder.allocate(Storage::F32, {shape[2], shape[0], shape[1], shape[3]});
  View results = transpose_view(by_token, {1, 2, 0, 3});
  std::vector<View> all = {results, views.state, views.log_decay,
                           views.x, views.keys,  views.queries};
  if (views.rates) all.push_back(*views.rates);
  if (views.scales) all.push_back(*views.scales);
  builder.emit_step<DecayedStep>(std::move(all), builder.cpu(), views.rates.has_value(),
                                 views.scales.has_value());
  return results;
}

bool add_skip(Builder& builder, const View& results, const View& x, const View& skip) {
  if (!builder.is_constant(skip)) return false;
  for (Node& node : builder.nodes()) {
    auto* decayed = ready_step<DecayedStep>(node);
    if (decayed == nullptr || node.views[0].buffer != results.buffer) continue;
    if (decayed->has_skip() || !same_elements(results, node.views[0]) ||
        !same_elements(x, node.views[3])) {
      return false;
    }
    decayed->add_skip(node.views.size());
    node.views.push_back(skip);
    return true;
  }
  return false;
}

}  // namespace pippin::engine
