// Makes the steps of the nodes, by kind.
#pragma once

#include <memory>

#include "pippin/engine/cpu/make_step.h"

namespace pippin::engine {

// The input of make_step_of() besides the kind.
struct StepSource {
  const Node& node;
  const ComputeOptions& options;

  const CpuFeatures& cpu() const { return options.cpu; }
};
using StepPointer = std::unique_ptr<Step>;

StepPointer make_step_of(const AffineNode& node, const StepSource& source);
StepPointer make_step_of(const AllowedNode& node, const StepSource& source);
StepPointer make_step_of(const ArgNode& node, const StepSource& source);
StepPointer make_step_of(const AttentionNode& node, const StepSource& source);
StepPointer make_step_of(const BandNode& node, const StepSource& source);
StepPointer make_step_of(const BatchedDotNode& node, const StepSource& source);
StepPointer make_step_of(const BinaryNode& node, const StepSource& source);
StepPointer make_step_of(const CausalConvolutionNode& node, const StepSource& source);
StepPointer make_step_of(const CodeNode& node, const StepSource& source);
StepPointer make_step_of(const CompareNode& node, const StepSource& source);
StepPointer make_step_of(const CopyNode& node, const StepSource& source);
StepPointer make_step_of(const CropNode& node, const StepSource& source);
StepPointer make_step_of(const CumulativeSumNode& node, const StepSource& source);
StepPointer make_step_of(const DecayedNode& node, const StepSource& source);
StepPointer make_step_of(const DimsNode& node, const StepSource& source);
StepPointer make_step_of(const DotNode& node, const StepSource& source);
StepPointer make_step_of(const ExpertsNode& node, const StepSource& source);
StepPointer make_step_of(const FillNode& node, const StepSource& source);
StepPointer make_step_of(const FoldNode& node, const StepSource& source);
StepPointer make_step_of(const FusedNode& node, const StepSource& source);
StepPointer make_step_of(const GatherNode& node, const StepSource& source);
StepPointer make_step_of(const GateNode& node, const StepSource& source);
StepPointer make_step_of(const HadamardNode& node, const StepSource& source);
StepPointer make_step_of(const L2NormNode& node, const StepSource& source);
StepPointer make_step_of(const InstanceNormNode& node, const StepSource& source);
StepPointer make_step_of(const LayerNormNode& node, const StepSource& source);
StepPointer make_step_of(const LinearRecurrenceNode& node, const StepSource& source);
StepPointer make_step_of(const LocalResponseNode& node, const StepSource& source);
StepPointer make_step_of(const LogicNode& node, const StepSource& source);
StepPointer make_step_of(const MapNode& node, const StepSource& source);
StepPointer make_step_of(const MaskSummaryNode& node, const StepSource& source);
StepPointer make_step_of(const NarrowNode& node, const StepSource& source);
StepPointer make_step_of(const OneHotNode& node, const StepSource& source);
StepPointer make_step_of(const PackConvNode& node, const StepSource& source);
StepPointer make_step_of(const PairNode& node, const StepSource& source);
StepPointer make_step_of(const PickNode& node, const StepSource& source);
StepPointer make_step_of(const PlaneNode& node, const StepSource& source);
StepPointer make_step_of(const QuantizedGatherNode& node, const StepSource& source);
StepPointer make_step_of(const RangeNode& node, const StepSource& source);
StepPointer make_step_of(const RecurrentNode& node, const StepSource& source);
StepPointer make_step_of(const ReduceNode& node, const StepSource& source);
StepPointer make_step_of(const ReferenceNode& node, const StepSource& source);
StepPointer make_step_of(const ResampleNode& node, const StepSource& source);
StepPointer make_step_of(const ReverseSequenceNode& node, const StepSource& source);
StepPointer make_step_of(const RmsNormNode& node, const StepSource& source);
StepPointer make_step_of(const RotaryNode& node, const StepSource& source);
StepPointer make_step_of(const ScatterNode& node, const StepSource& source);
StepPointer make_step_of(const SelectiveNode& node, const StepSource& source);
StepPointer make_step_of(const SelectNode& node, const StepSource& source);
StepPointer make_step_of(const SoftmaxNode& node, const StepSource& source);
StepPointer make_step_of(const SortNode& node, const StepSource& source);
StepPointer make_step_of(const StackedDotNode& node, const StepSource& source);
StepPointer make_step_of(const StoreCacheNode& node, const StepSource& source);
StepPointer make_step_of(const SuppressionNode& node, const StepSource& source);
StepPointer make_step_of(const UnaryNode& node, const StepSource& source);

// By the form of the weights, which all products of a node share.
StepPointer make_dense_dot(const DotNode& dot, const StepSource& source);
StepPointer make_quantized_dot(const DotNode& dot, const StepSource& source);
StepPointer make_e4m7_dot(const DotNode& dot, const StepSource& source);
bool share_quantized_input(const DotNode& a, const DotNode& b, const ComputeOptions& options);

}  // namespace pippin::engine
