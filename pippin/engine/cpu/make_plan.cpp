#include "pippin/engine/cpu/make_plan.h"

#include <algorithm>

#include "pippin/base/log.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/base/text.h"
#include "pippin/engine/cpu/limits.h"
#include "pippin/engine/cpu/make_step.h"

namespace pippin::engine {

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

std::shared_ptr<const CpuPlan> make_plan(NodePlan nodes, const ComputeOptions& options) {
  auto plan = std::make_shared<CpuPlan>(std::move(nodes));
  std::set<const std::byte*> counted;
  for (const Node& node : plan->node_plan.nodes) {
    const auto& step = plan->steps.emplace_back(make_step(node, options));
    plan->scratch_size = std::max(plan->scratch_size, align_up<int64_t>(step->scratch_bytes(), 64));
    plan->weights_read += step->weight_bytes();
    plan->weights_saved += step->saved_bytes(counted);
  }
  log_debug("plan: {} steps, arena {}, {} of weights a run", plan->steps.size(),
            format_bytes(plan->arena_bytes()), format_bytes(plan->weight_bytes()));
  return plan;
}

}  // namespace pippin::engine
