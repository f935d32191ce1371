// Planning of a function, or a range of its operations, as a list of nodes: operations are lowered
// in order (lower.cpp), unused values are dropped, buffers get their places in one arena.
#pragma once

#include <memory>
#include <string_view>

#include "pippin/engine/lowering/builder.h"
#include "pippin/engine/nodes/node_plan.h"

namespace pippin::engine {

// Integer inputs of at most this many elements may determine positions and sizes.
constexpr int64_t kMaxValueSymbols = 16;

// The nodes of a function for a device. Throws as Plan::make.
NodePlan plan_nodes(const mil::Model& model, std::string_view function, const PlanOptions& options,
                    const Target& target);

// As Plan::make, for the CPU.
std::shared_ptr<const Plan> plan_function(const mil::Model& model, std::string_view function,
                                          const PlanOptions& options);

// Lowers a region. `plan` has the ports, axes, values and constraints of its inputs; the rest is
// filled in. `operation_in_work` is set to the operation being lowered, so that callers can name
// the one that failed. Throws like Plan::make.
void plan_region(const Region& region, const mil::Inference& inference, NodePlan& plan,
                 const mil::Operation** operation_in_work = nullptr);

// One operation into nodes: folded, fused with those before it, or by its rule. Throws Unsupported
// where no rule fits.
void lower(Builder& builder, const mil::Operation& operation);

}  // namespace pippin::engine
