// Plans of the CPU: what it takes of nodes, and the steps that carry them out.
#pragma once

#include <memory>

#include "pippin/engine/nodes/target.h"
#include "pippin/engine/run/cpu_plan.h"

namespace pippin::engine {

Target cpu_target(const ComputeOptions& options);

// A plan of nodes that were planned for cpu_target().
std::shared_ptr<const CpuPlan> make_plan(NodePlan nodes, const ComputeOptions& options);

}  // namespace pippin::engine
