// Makes launchers by kinds of nodes.
#pragma once

#include "pippin/cuda/launchers/launcher.h"

namespace pippin::cuda {

// Kinds without a kernel.
template <typename Kind>
LauncherPointer make_launcher_of(const Kind& /*node*/, const LauncherSource& /*source*/) {
  return nullptr;
}
LauncherPointer make_launcher_of(const engine::AttentionNode& node, const LauncherSource& source);
LauncherPointer make_launcher_of(const engine::RmsNormNode& node, const LauncherSource& source);

}  // namespace pippin::cuda
