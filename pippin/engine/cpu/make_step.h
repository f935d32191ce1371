// Makes the steps with which the CPU executes nodes. Kernels are chosen here and nowhere else.
#pragma once

#include <memory>

#include "pippin/engine/compute_options.h"
#include "pippin/engine/nodes/node.h"
#include "pippin/engine/run/step.h"

namespace pippin::engine {

// `node` must outlive the step.
std::unique_ptr<Step> make_step(const Node& node, const ComputeOptions& options);

// Whether products of both, which read the same x, are as fast in one node.
bool share_input(const DotNode& a, const DotNode& b, const ComputeOptions& options);

}  // namespace pippin::engine
