// Plans for the CPU: the nodes that it supports, and the steps that run them.
#pragma once

#include <memory>

#include "pippin/engine/nodes/target.h"
#include "pippin/engine/run/cpu_plan.h"

namespace pippin::engine {

Target cpu_target(const ComputeOptions& options);

// A plan of nodes that were planned for cpu_target(), which runs alone or with peers.
std::shared_ptr<const CpuPlan> make_plan(NodePlan nodes, const ComputeOptions& options,
                                         std::shared_ptr<Peers> peers = nullptr);

}  // namespace pippin::engine
