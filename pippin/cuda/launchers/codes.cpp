// Launchers of 8-bit quantized values.
#include "pippin/cuda/kernels/elementwise_args.h"
#include "pippin/cuda/launchers/element_grid.h"
#include "pippin/cuda/launchers/launchers.h"
#include "pippin/cuda/launchers/weight_store.h"

namespace pippin::cuda {
namespace {

using engine::Operand;

class CodeLauncher : public Launcher {
 public:
  CodeLauncher(const engine::CodeNode& node, const LauncherSource& source)
      : op_(static_cast<CodeArgs::Op>(node.op)),
        num_slices_(static_cast<int64_t>(node.slices.size())),
        slices_(source.weights.upload(node.slices.data(),
                                      node.slices.size() * sizeof(kernels::CodeScale))) {}
  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    const Operand& y = context.operands[0];
    if (y.size() == 0) return;
    CodeArgs args{};
    args.y = y.data;
    args.x = context.operands[1].data;
    args.slices = reinterpret_cast<const kernels::CodeScale*>(slices_->data);
    args.num_slices = num_slices_;
    args.inner = y.shape[2];
    args.count = y.size();
    args.op = op_;
    launches.push_back(element_launch(Kernel::code, args, args.count));
  }

 private:
  CodeArgs::Op op_;
  int64_t num_slices_;
  UploadedBytes slices_;
};

class PairLauncher : public Launcher {
 public:
  explicit PairLauncher(const kernels::CodeScale& scale) : scale_(scale) {}
  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    const Operand& y = context.operands[0];
    const Operand& x = context.operands[1];
    if (y.size() == 0) return;
    const PairArgs args{y.ints(),   x.floats(), scale_,       y.shape[1],  x.shape[1],
                        y.shape[2], y.size(),   x.strides[0], x.strides[1]};
    launches.push_back(element_launch(Kernel::pair_codes, args, args.count));
  }

 private:
  kernels::CodeScale scale_;
};

}  // namespace

LauncherPointer make_launcher_of(const engine::CodeNode& node, const LauncherSource& source) {
  static_assert(static_cast<CodeArgs::Op>(engine::CodeOp::Round) == CodeArgs::Op::Round);
  return node.slices.empty() ? nullptr : std::make_unique<CodeLauncher>(node, source);
}
LauncherPointer make_launcher_of(const engine::PairNode& node, const LauncherSource&) {
  return std::make_unique<PairLauncher>(node.scale);
}

}  // namespace pippin::cuda
