// Launchers of copies, and of numbers that the host writes.
#include "pippin/cuda/kernels/copy_args.h"
#include "pippin/cuda/launchers/launchers.h"
#include "pippin/cuda/launchers/walk.h"

namespace pippin::cuda {
namespace {

using engine::Operand;

// Whether a walk reads along another axis than it writes, so that tiles pay: the axis whose
// elements are adjacent in x, or 0.
int transposed_axis(const Axes<kMostArrays>& axes) {
  constexpr uint32_t kWorthTiles = 8;
  if (axes.width != 1 || axes.strides[0][0] != 1 || axes.strides[1][0] == 1) return 0;
  if (axes.strides[1][0] == 0 || axes.shape[0] < kWorthTiles) return 0;
  for (int axis = 1; axis < axes.rank; ++axis) {
    if (axes.strides[1][axis] == 1 && axes.shape[axis] >= kWorthTiles) return axis;
  }
  return 0;
}

// False if the grid would be too large.
bool add_transpose(const Walk& walk, int axis, int64_t element_size,
                   std::vector<Launch>& launches) {
  constexpr int64_t kSide = 32, kMostMatrices = 65535;
  const Axes<kMostArrays>& axes = walk.axes;
  TransposeArgs args{};
  args.y = walk.data[0];
  args.x = walk.data[1];
  args.element_size = static_cast<int32_t>(element_size);
  args.columns = axes.shape[0];
  args.rows = axes.shape[axis];
  args.y_row = axes.strides[0][axis];
  args.x_column = axes.strides[1][0];
  int64_t matrices = 1;
  for (int i = 1; i < axes.rank; ++i) {
    if (i == axis) continue;
    args.shape[args.rank] = axes.shape[i];
    for (int k = 0; k < 2; ++k) args.strides[k][args.rank] = axes.strides[k][i];
    ++args.rank;
    matrices *= axes.shape[i];
  }
  if (matrices > kMostMatrices) return false;
  const int64_t tiles =
      ((args.rows + kSide - 1) / kSide) * ((int64_t{args.columns} + kSide - 1) / kSide);
  launches.push_back(Launch::of(Kernel::transpose, args, tiles, 256,
                                static_cast<size_t>(kSide * (kSide + 1) * element_size), matrices));
  return true;
}

class CopyLauncher : public Launcher {
 public:
  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    const Operand& y = context.operands[0];
    const Operand& x = context.operands[1];
    for_walks(context.operands.first(2), true, [&](const Walk& walk) {
      if (y.storage == x.storage) {
        const int axis = transposed_axis(walk.axes);
        if (axis != 0 && add_transpose(walk, axis, engine::element_size(y.storage), launches)) {
          return;
        }
      }
      const CopyArgs args{walk.data[0], walk.data[1], element_of(y.storage), element_of(x.storage),
                          walk.first<2>()};
      launches.push_back(Launch::of(Kernel::copy, args, blocks_of(walk), threads_of(walk)));
    });
  }
};

// y has one value in all places: of the operand, repeated.
class FillLauncher : public Launcher {
 public:
  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    std::array<Operand, 2> operands = {context.operands[0], context.operands[0]};
    operands[1].data = context.operands[1].data;
    std::fill(std::begin(operands[1].strides), std::end(operands[1].strides), 0);
    for_walks(operands, true, [&](const Walk& walk) {
      const Element element = element_of(operands[0].storage);
      const CopyArgs args{walk.data[0], walk.data[1], element, element, walk.first<2>()};
      launches.push_back(Launch::of(Kernel::copy, args, blocks_of(walk), threads_of(walk)));
    });
  }
};

class DimsLauncher : public Launcher {
 public:
  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    const Operand& y = context.operands[0];
    const auto scalars = context.scalars;
    for (size_t first = 0; first < scalars.size(); first += ConstantArgs::kMost) {
      ConstantArgs args{};
      const size_t count = std::min<size_t>(ConstantArgs::kMost, scalars.size() - first);
      args.y = y.data + static_cast<int64_t>(first) * engine::element_size(y.storage);
      args.to = element_of(y.storage);
      args.count = static_cast<int32_t>(count);
      std::copy_n(scalars.begin() + static_cast<std::ptrdiff_t>(first), count, args.values);
      launches.push_back(Launch::of(Kernel::write_constants, args, 1, 32));
    }
  }
};

}  // namespace

LauncherPointer make_launcher_of(const engine::CopyNode&, const LauncherSource&) {
  return std::make_unique<CopyLauncher>();
}
LauncherPointer make_launcher_of(const engine::DimsNode&, const LauncherSource&) {
  return std::make_unique<DimsLauncher>();
}
LauncherPointer make_launcher_of(const engine::FillNode&, const LauncherSource&) {
  return std::make_unique<FillLauncher>();
}

}  // namespace pippin::cuda
