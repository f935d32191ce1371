#include "pippin/cuda/launchers/launcher.h"

#include <variant>

#include "pippin/cuda/launchers/dot_launches.h"
#include "pippin/cuda/launchers/launchers.h"

namespace pippin::cuda {

LauncherPointer make_launcher(const LauncherSource& source) {
  return std::visit([&](const auto& kind) { return make_launcher_of(kind, source); },
                    source.node.kind);
}

engine::Target cuda_target(const engine::ComputeOptions& options) {
  engine::Target target;
  target.takes_quantized = [](const engine::QuantizedWeight&) { return true; };
  target.takes_narrow = true;
  target.lacks_fusions = {"low_rank"};
  target.shares_input = [options](const engine::DotNode& a, const engine::DotNode& b) {
    return share_dot_input(a, b, options);
  };
  target.fits_windows = [](const engine::Windows&, const engine::View&) { return false; };
  return target;
}

}  // namespace pippin::cuda
