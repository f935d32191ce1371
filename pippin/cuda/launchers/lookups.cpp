// Launchers of gather and scatter.
#include <algorithm>

#include "pippin/cuda/kernels/lookup_args.h"
#include "pippin/cuda/launchers/launchers.h"
#include "pippin/cuda/launchers/walk.h"

namespace pippin::cuda {
namespace {

using engine::Operand;
using engine::Places;

constexpr int kPlaceAxes = 3, kSlice = 3;  // the first axes, and the last one

PlacesArgs places_args(bool from_end, bool refuse, const LaunchContext& context,
                       const Operand& indices) {
  PlacesArgs args{};
  args.failed = context.failed;
  args.from_end = from_end;
  args.refuse = refuse;
  const size_t count = context.scalars.size() / 2;
  args.count = static_cast<int32_t>(count);
  args.index_step = indices.strides[kSlice];
  std::copy_n(context.scalars.begin(), count, args.sizes);
  std::copy_n(context.scalars.begin() + static_cast<std::ptrdiff_t>(count), count, args.strides);
  return args;
}

// The indices in the shape of the slices: all elements of one have the same.
Operand by_slices(Operand indices) {
  indices.strides[kSlice] = 0;
  return indices;
}

void set_strides(Operand& operand) {
  int64_t stride = 1;
  for (int axis = operand.rank; axis-- > 0;) {
    operand.strides[axis] = stride;
    stride *= operand.shape[axis];
  }
}

class GatherLauncher : public Launcher {
 public:
  explicit GatherLauncher(const Places& places)
      : from_end_(places.from_end), refuse_(places.refuse) {}
  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    std::array<Operand, 3> operands = {context.operands[0], context.operands[1],
                                       by_slices(context.operands[2])};
    set_strides(operands[0]);
    GatherArgs args{};
    args.to = element_of(operands[0].storage);
    args.from = element_of(operands[1].storage);
    args.places = places_args(from_end_, refuse_, context, context.operands[2]);
    bool groups = operands[0].shape[kSlice] % 4 == 0;
    for (int k = 0; k < args.places.count; ++k) {
      groups = groups && args.places.strides[k] % 4 == 0;
    }
    for_walks(operands, groups, [&](const Walk& walk) {
      args.y = walk.data[0];
      args.table = walk.data[1];
      args.places.indices = reinterpret_cast<const int32_t*>(walk.data[2]);
      args.axes = walk.first<3>();
      launches.push_back(Launch::of(Kernel::gather, args, blocks_of(walk), threads_of(walk)));
    });
  }

 private:
  bool from_end_, refuse_;
};

class ScatterLauncher : public Launcher {
 public:
  explicit ScatterLauncher(const engine::ScatterNode& node)
      : from_end_(node.places.from_end),
        refuse_(node.places.refuse),
        op_(static_cast<ScatterArgs::Op>(node.combine)) {}
  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    std::array<Operand, 3> operands = {context.operands[0], context.operands[1],
                                       by_slices(context.operands[2])};
    if (operands[1].size() == 0) return;
    set_strides(operands[1]);
    std::copy_n(operands[1].shape, operands[1].rank, operands[0].shape);
    ScatterArgs args{};
    args.op = op_;
    args.integers = operands[0].storage == engine::Storage::I32;
    args.places = places_args(from_end_, refuse_, context, context.operands[2]);
    for (int axis = 0; axis < kPlaceAxes; ++axis) {
      // Along axes of the table no place comes twice.
      const bool is_loop = operands[0].strides[axis] == 0;
      args.loops[axis] = is_loop ? static_cast<int32_t>(operands[0].shape[axis]) : 1;
      args.table_steps[axis] = operands[0].strides[axis];
      args.update_steps[axis] = operands[1].strides[axis];
      args.index_steps[axis] = operands[2].strides[axis];
      if (!is_loop) continue;
      for (Operand& operand : operands) operand.shape[axis] = 1;
    }
    for_walks(operands, false, [&](const Walk& walk) {
      args.table = walk.data[0];
      args.updates = walk.data[1];
      args.places.indices = reinterpret_cast<const int32_t*>(walk.data[2]);
      args.axes = walk.first<3>();
      launches.push_back(Launch::of(Kernel::scatter, args, blocks_of(walk), threads_of(walk)));
    });
  }

 private:
  bool from_end_, refuse_;
  ScatterArgs::Op op_;
};

bool has_few_coordinates(const LauncherSource& source) {
  return source.node.scalars.size() / 2 <= kMostCoordinates;
}

}  // namespace

LauncherPointer make_launcher_of(const engine::GatherNode& node, const LauncherSource& source) {
  return has_few_coordinates(source) ? std::make_unique<GatherLauncher>(node.places) : nullptr;
}
LauncherPointer make_launcher_of(const engine::ScatterNode& node, const LauncherSource& source) {
  static_assert(static_cast<ScatterArgs::Op>(engine::Combine::Min) == ScatterArgs::Op::Min);
  return has_few_coordinates(source) ? std::make_unique<ScatterLauncher>(node) : nullptr;
}

}  // namespace pippin::cuda
