#include "pippin/engine/cpu/make_plan.h"

#include <algorithm>
#include <memory>
#include <variant>

#include "pippin/base/log.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/base/text.h"
#include "pippin/engine/cpu/limits.h"
#include "pippin/engine/cpu/make_step.h"

namespace pippin::engine {

namespace {

// Whether a product or a mixture of experts has quantized weights, for which `fast` rounds
// activations to 8 bits.
bool rounds_activations(const NodePlan& plan) {
  const auto is_quantized = [](const auto& weight) {
    return std::holds_alternative<std::shared_ptr<const QuantizedWeight>>(weight);
  };
  return std::any_of(plan.nodes.begin(), plan.nodes.end(), [&](const Node& node) {
    if (const auto* experts = node.as<ExpertsNode>()) return is_quantized(experts->gate.weight);
    const auto* dot = node.as<DotNode>();
    return dot != nullptr && std::any_of(dot->products.begin(), dot->products.end(),
                                         [&](const auto& one) { return is_quantized(one.weight); });
  });
}

// The options with which steps are made. Attention uses products of bf16 only in language models,
// which are trained in it, and only where products round their activations more than that.
ComputeOptions step_options(const NodePlan& plan, const ComputeOptions& options) {
  ComputeOptions result = options;
  if (!options.batch_invariant || !rounds_activations(plan)) result.cpu.avx512bf16 = false;
  return result;
}

}  // namespace

Target cpu_target(const ComputeOptions& options) {
  Target target;
  target.takes_quantized = [](const QuantizedWeight&) { return true; };
  target.takes_narrow = true;
  target.takes_panels = true;
  target.takes_mask_summaries = true;
  target.shares_input = [options](const DotNode& a, const DotNode& b) {
    return share_input(a, b, options);
  };
  target.fits_windows = fits_windows;
  return target;
}

std::shared_ptr<const CpuPlan> make_plan(NodePlan nodes, const ComputeOptions& options,
                                         std::shared_ptr<Peers> peers) {
  auto plan = std::make_shared<CpuPlan>(std::move(nodes));
  plan->peers = std::move(peers);
  const ComputeOptions compute = step_options(plan->node_plan, options);
  std::set<const std::byte*> counted;
  for (const Node& node : plan->node_plan.nodes) {
    const auto& step = plan->steps.emplace_back(make_step(node, compute));
    plan->scratch_size = std::max(plan->scratch_size, align_up<int64_t>(step->scratch_bytes(), 64));
    plan->weights_read += step->weight_bytes();
    plan->weights_saved += step->saved_bytes(counted);
  }
  log_debug("plan: {} steps, arena {}, {} of weights a run", plan->steps.size(),
            format_bytes(plan->arena_bytes()), format_bytes(plan->weight_bytes()));
  return plan;
}

}  // namespace pippin::engine
