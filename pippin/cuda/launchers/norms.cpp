#include <algorithm>

#include "pippin/cuda/kernels/rows_args.h"
#include "pippin/cuda/launchers/launchers.h"

namespace pippin::cuda {
namespace {

using engine::Operand;

// A thread for each four columns, in whole warps.
unsigned threads_for(int64_t columns, unsigned most = 1024) {
  const int64_t warps = std::clamp<int64_t>((columns + 127) / 128, 1, most / 32);
  return static_cast<unsigned>(warps * 32);
}

class RmsNormLauncher : public Launcher {
 public:
  explicit RmsNormLauncher(float epsilon) : epsilon_(epsilon) {}
  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    const Operand& y = context.operands[0];
    const Operand& x = context.operands[1];
    if (x.size() == 0) return;
    NormArgs args{};
    args.y = y.floats();
    args.x = x.floats();
    if (context.operands.size() > 2) args.gamma = context.operands[2].floats();
    args.y_stride = y.strides[0];
    args.x_stride = x.strides[0];
    args.rows = x.shape[0];
    args.columns = x.shape[1];
    args.epsilon = epsilon_;
    launches.push_back(
        Launch::of(Kernel::rms_norm, args, args.rows, threads_for(args.columns), 128));
  }

 private:
  float epsilon_;
};

}  // namespace

LauncherPointer make_launcher_of(const engine::RmsNormNode& node, const LauncherSource&) {
  return std::make_unique<RmsNormLauncher>(node.epsilon);
}

}  // namespace pippin::cuda
