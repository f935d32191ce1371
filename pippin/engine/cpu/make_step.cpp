#include "pippin/engine/cpu/make_step.h"

#include "pippin/engine/cpu/steps.h"

namespace pippin::engine {

std::unique_ptr<Step> make_step(const Node& node, const ComputeOptions& options) {
  const StepSource source{node, options};
  auto step = std::visit([&](const auto& kind) { return make_step_of(kind, source); }, node.kind);
  step->attach(node);
  return step;
}

}  // namespace pippin::engine
