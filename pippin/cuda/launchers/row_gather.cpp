#include <algorithm>
#include <utility>

#include "pippin/cuda/launchers/device_matrix.h"
#include "pippin/cuda/launchers/launchers.h"

namespace pippin::cuda {
namespace {

using engine::Operand;

class RowGatherLauncher : public Launcher {
 public:
  explicit RowGatherLauncher(DeviceMatrix matrix) : matrix_(std::move(matrix)) {}

  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    const Operand& y = context.operands[0];
    const Operand& indices = context.operands[1];
    if (y.size() == 0) return;
    DotProduct product{};
    matrix_.describe(product);
    RowGatherArgs args{};
    args.rows = product.rows;
    args.scales = product.scales;
    args.shifts = product.shifts;
    args.indices = indices.ints();
    args.y = y.floats();
    args.row_bytes = product.row_bytes;
    args.y_stride = y.strides[0];
    args.index_stride = indices.strides[0];
    args.n = product.n;
    args.k = static_cast<int32_t>(matrix_.k);
    args.count = static_cast<int32_t>(y.shape[0]);
    args.form = matrix_.form;
    args.numbers = matrix_.numbers;
    const auto threads = static_cast<unsigned>(std::clamp<int64_t>((matrix_.k + 255) / 256, 1, 8));
    launches.push_back(Launch::of(Kernel::gather_rows, args, y.shape[0], threads * 32));
  }

 private:
  DeviceMatrix matrix_;
};

}  // namespace

LauncherPointer make_launcher_of(const engine::QuantizedGatherNode& node,
                                 const LauncherSource& source) {
  return std::make_unique<RowGatherLauncher>(
      upload_matrix(MatrixSource(*node.weight, source.options.cpu), source.weights));
}

}  // namespace pippin::cuda
