// The steps of the nodes, by kind.
#pragma once

#include <memory>

#include "pippin/engine/cpu/make_step.h"

namespace pippin::engine {

// What a step is made with besides its kind.
struct StepSource {
  const Node& node;
  const ComputeOptions& options;

  const CpuFeatures& cpu() const { return options.cpu; }
};
using StepPointer = std::shared_ptr<Step>;

StepPointer make_step_of(const BatchedDotNode& dot, const StepSource& source);
StepPointer make_step_of(const CopyNode& copy, const StepSource& source);
StepPointer make_step_of(const DimsNode& dims, const StepSource& source);
StepPointer make_step_of(const DotNode& dot, const StepSource& source);
StepPointer make_step_of(const QuantizedGatherNode& gather, const StepSource& source);
StepPointer make_step_of(const ReadyNode& ready, const StepSource& source);

// By the form of the weights, which all products of a node have in common.
StepPointer make_dense_dot(const DotNode& dot, const StepSource& source);
StepPointer make_quantized_dot(const DotNode& dot, const StepSource& source);
StepPointer make_e4m7_dot(const DotNode& dot, const StepSource& source);
bool share_quantized_input(const DotNode& a, const DotNode& b, const ComputeOptions& options);

}  // namespace pippin::engine
