// Launchers of recurrences over tokens, and of the short convolutions before them.
#include "pippin/cuda/kernels/recurrence_args.h"
#include "pippin/cuda/launchers/element_grid.h"
#include "pippin/cuda/launchers/launchers.h"

namespace pippin::cuda {
namespace {

using engine::Operand;
using engine::Storage;

bool is_half_state(const Operand& state) {
  return state.storage == Storage::F16;
}
// In a short pass a state in fp16 is rounded after each token, as on the CPU: the tokens then have
// the same bits as in a pass each (runtime::Capabilities::equal_rows).
bool rounds_state(const Operand& state, int64_t tokens) {
  constexpr int64_t kPassFrom = 8;
  return is_half_state(state) && tokens < kPassFrom;
}

TokenNumbers by_tokens(const Operand& operand) {  // [groups, tokens, n]
  return {operand.floats(), operand.strides[0], 0, operand.strides[1]};
}
TokenNumbers by_heads(const Operand& operand) {  // [groups, heads, tokens]
  return {operand.floats(), operand.strides[0], operand.strides[1], operand.strides[2]};
}
TokenRows head_rows(const Operand& operand) {  // [groups, heads, tokens, rows]
  return {operand.floats(), operand.strides[0], operand.strides[1], operand.strides[2]};
}

void add_recurrence(RecurrenceArgs args, const Operand& state, std::vector<Launch>& launches) {
  const int64_t rows = int64_t{args.groups} * args.heads * args.rows;
  if (rows == 0 || args.tokens == 0) return;
  args.state = state.data;
  args.in_halves = is_half_state(state);
  args.rounds = rounds_state(state, args.tokens);
  args.lanes = args.n <= 8 ? 8 : args.n <= 16 ? 16 : 32;
  launches.push_back(element_launch(Kernel::recurrence, args, rows * args.lanes));
}

class SelectiveLauncher : public Launcher {
 public:
  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    const auto& operands = context.operands;
    const Operand& state = operands[1];
    const auto rows = [](const Operand& operand) {
      return TokenRows{operand.floats(), 0, 0, operand.strides[0]};
    };
    const auto numbers = [](const Operand& operand) {
      return TokenNumbers{operand.floats(), 0, 0, operand.strides[0]};
    };
    RecurrenceArgs args{};
    args.state_row = state.strides[0];
    args.y = rows(operands[0]);
    args.steps = operands[2].floats();
    args.step_token = operands[2].strides[0];
    args.x = rows(operands[3]);
    args.step_rates = operands[4].floats();
    args.step_rate_row = operands[4].strides[0];
    args.keys = numbers(operands[5]);
    args.queries = numbers(operands[6]);
    args.groups = 1;
    args.heads = 1;
    args.rows = static_cast<int32_t>(state.shape[0]);
    args.n = static_cast<int32_t>(state.shape[1]);
    args.tokens = static_cast<int32_t>(operands[3].shape[0]);
    add_recurrence(args, state, launches);
  }
};

class DecayedLauncher : public Launcher {
 public:
  explicit DecayedLauncher(const engine::DecayedNode& node) : node_(node) {}
  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    const auto& operands = context.operands;
    const Operand& state = operands[1];
    RecurrenceArgs args{};
    args.state_group = state.strides[0];
    args.state_head = state.strides[1];
    args.state_row = state.strides[2];
    args.y = head_rows(operands[0]);
    args.log_decay = by_heads(operands[2]);
    args.x = head_rows(operands[engine::DecayedNode::kX]);
    args.keys = by_tokens(operands[4]);
    args.queries = by_tokens(operands[5]);
    if (node_.has_rates) args.rates = by_heads(operands[node_.rates_view()]);
    if (node_.has_scales) args.scales = by_heads(operands[node_.scales_view()]);
    if (node_.has_skip) {
      const Operand& skip = operands[node_.skip_view()];
      args.skip = {skip.floats(), skip.strides[0], skip.strides[1], 0};
    }
    args.groups = static_cast<int32_t>(state.shape[0]);
    args.heads = static_cast<int32_t>(state.shape[1]);
    args.rows = static_cast<int32_t>(state.shape[2]);
    args.n = static_cast<int32_t>(state.shape[3]);
    args.tokens = static_cast<int32_t>(operands[engine::DecayedNode::kX].shape[2]);
    add_recurrence(args, state, launches);
  }

 private:
  engine::DecayedNode node_;
};

class LinearLauncher : public Launcher {
 public:
  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    const auto& operands = context.operands;
    const Operand& state = operands[1];
    LinearRecurrenceArgs args{};
    args.y = operands[0].floats();
    args.state = state.data;
    args.decay = operands[2].floats();
    args.x = operands[3].floats();
    args.y_token = operands[0].strides[0];
    args.decay_token = operands[2].strides[0];
    args.x_token = operands[3].strides[0];
    args.n = state.shape[0];
    args.tokens = operands[3].shape[0];
    args.in_halves = is_half_state(state);
    args.rounds = rounds_state(state, args.tokens);
    if (args.n == 0 || args.tokens == 0) return;
    launches.push_back(element_launch(Kernel::linear_recurrence, args, args.n));
  }
};

class ConvolutionLauncher : public Launcher {
 public:
  explicit ConvolutionLauncher(const engine::CausalConvolutionNode& node) : node_(node) {}
  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    const auto& operands = context.operands;
    const Operand& state = operands[1];
    ConvolutionArgs args{};
    args.y = operands[0].floats();
    args.state = state.data;
    args.x = operands[2].floats();
    args.weight = operands[3].floats();
    if (operands.size() > 4) args.bias = operands[4].floats();
    args.y_token = operands[0].strides[0];
    args.state_row = state.strides[0];
    args.x_token = operands[2].strides[0];
    args.weight_tap = operands[3].strides[0];
    args.features = state.shape[1];
    args.tokens = operands[2].shape[0];
    args.taps = static_cast<int32_t>(operands[3].shape[0]);
    args.in_halves = is_half_state(state);
    args.rounds = rounds_state(state, args.tokens);
    args.has_silu = node_.has_silu;
    if (args.features == 0 || args.tokens == 0) return;
    const int64_t parts = (args.tokens + ConvolutionArgs::kTokens - 1) / ConvolutionArgs::kTokens;
    launches.push_back(element_launch(Kernel::convolution, args, args.features, parts));
    if (parts > 1)
      launches.push_back(element_launch(Kernel::convolution_state, args, args.features));
  }

 private:
  engine::CausalConvolutionNode node_;
};

// Whether a row of the state, its last axis, fits its lanes.
bool state_rows_fit(const LauncherSource& source) {
  constexpr int64_t kLanes = 32;
  return source.node.views[1].shape.back().upper() <= kLanes * RecurrenceArgs::kMostOfLane;
}

}  // namespace

LauncherPointer make_launcher_of(const engine::CausalConvolutionNode& node,
                                 const LauncherSource& source) {
  const int64_t taps = source.node.views[3].shape[0].upper();
  if (taps > ConvolutionArgs::kMostTaps) return nullptr;
  return std::make_unique<ConvolutionLauncher>(node);
}
LauncherPointer make_launcher_of(const engine::DecayedNode& node, const LauncherSource& source) {
  return state_rows_fit(source) ? std::make_unique<DecayedLauncher>(node) : nullptr;
}
LauncherPointer make_launcher_of(const engine::LinearRecurrenceNode&, const LauncherSource&) {
  return std::make_unique<LinearLauncher>();
}
LauncherPointer make_launcher_of(const engine::SelectiveNode&, const LauncherSource& source) {
  return state_rows_fit(source) ? std::make_unique<SelectiveLauncher>() : nullptr;
}

}  // namespace pippin::cuda
