// Makes launchers by kinds of nodes.
#pragma once

#include "pippin/cuda/launchers/launcher.h"

namespace pippin::cuda {

// Kinds without a kernel.
template <typename Kind>
LauncherPointer make_launcher_of(const Kind& /*node*/, const LauncherSource& /*source*/) {
  return nullptr;
}

LauncherPointer make_launcher_of(const engine::CopyNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::DimsNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::FillNode& node, const LauncherSource& source);

LauncherPointer make_launcher_of(const engine::BatchedDotNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::DotNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::ExpertsNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::QuantizedGatherNode& node,
                                 const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::StackedDotNode& node, const LauncherSource& source);

LauncherPointer make_launcher_of(const engine::AllowedNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::BinaryNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::CodeNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::CompareNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::FusedNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::GateNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::LogicNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::MapNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::NarrowNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::PairNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::SelectNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::UnaryNode& node, const LauncherSource& source);

LauncherPointer make_launcher_of(const engine::GatherNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::ScatterNode& node, const LauncherSource& source);

LauncherPointer make_launcher_of(const engine::AttentionNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::BandNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::CumulativeSumNode& node,
                                 const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::OneHotNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::PickNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::RangeNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::ReverseSequenceNode& node,
                                 const LauncherSource& source);

LauncherPointer make_launcher_of(const engine::CausalConvolutionNode& node,
                                 const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::DecayedNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::LinearRecurrenceNode& node,
                                 const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::SelectiveNode& node, const LauncherSource& source);

LauncherPointer make_launcher_of(const engine::ArgNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::FoldNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::InstanceNormNode& node,
                                 const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::L2NormNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::LayerNormNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::LocalResponseNode& node,
                                 const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::ReduceNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::RmsNormNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::RotaryNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::SoftmaxNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::SortNode& node, const LauncherSource& source);

}  // namespace pippin::cuda
