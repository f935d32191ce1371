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

LauncherPointer make_launcher_of(const engine::AllowedNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::BinaryNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::CodeNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::CompareNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::GateNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::LogicNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::MapNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::NarrowNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::PairNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::SelectNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::UnaryNode& node, const LauncherSource& source);

LauncherPointer make_launcher_of(const engine::GatherNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::ScatterNode& node, const LauncherSource& source);

LauncherPointer make_launcher_of(const engine::BatchedDotNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::DotNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::QuantizedGatherNode& node,
                                 const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::AttentionNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::RmsNormNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::RotaryNode& node, const LauncherSource& source);

}  // namespace pippin::cuda
