#include "pippin/cuda/launchers/walk.h"

#include <cstdlib>
#include <vector>

namespace pippin::cuda {
namespace {

using engine::element_size;
using engine::Operand;

constexpr int64_t kMostElements = int64_t{1} << 31;
constexpr int64_t kGroup = 4;
constexpr unsigned kMostThreads = 128;

struct Axis {
  int64_t size = 1;
  std::array<int64_t, kMostArrays> strides{};
};

// Innermost first, merged, without axes of one element; by the strides of the first operand, so
// that it is written in the order of memory.
std::vector<Axis> axes_of(std::span<const Operand> operands) {
  std::vector<Axis> axes;
  axes.reserve(kMostAxes);
  const Operand& first = operands[0];
  for (int i = first.rank; i-- > 0;) {
    if (first.shape[i] == 1) continue;
    Axis axis{first.shape[i], {}};
    for (size_t k = 0; k < operands.size(); ++k) axis.strides[k] = operands[k].strides[i];
    axes.push_back(axis);
  }
  std::stable_sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) {
    return std::abs(a.strides[0]) < std::abs(b.strides[0]);
  });
  size_t count = 0;
  for (const Axis& axis : axes) {
    bool merges = count > 0;
    for (size_t k = 0; k < operands.size() && merges; ++k) {
      merges = axis.strides[k] == axes[count - 1].strides[k] * axes[count - 1].size;
    }
    if (merges) {
      axes[count - 1].size *= axis.size;
    } else {
      axes[count++] = axis;
    }
  }
  axes.resize(count);
  if (axes.empty()) {
    axes.emplace_back();
    axes[0].strides.fill(1);
  }
  return axes;
}

bool has_groups(std::span<const Operand> operands, const Walk& walk,
                const std::vector<Axis>& axes) {
  if (axes[0].size % kGroup != 0 || axes[0].strides[0] != 1) return false;
  for (size_t k = 0; k < operands.size(); ++k) {
    if (axes[0].strides[k] == 0) continue;
    const int64_t bytes = kGroup * element_size(operands[k].storage);
    bool fits = axes[0].strides[k] == 1 &&
                reinterpret_cast<uintptr_t>(walk.data[k]) % static_cast<uintptr_t>(bytes) == 0;
    for (size_t i = 1; i < axes.size(); ++i) fits = fits && axes[i].strides[k] % kGroup == 0;
    if (!fits) return false;
  }
  return true;
}

void add_walk(std::span<const Operand> operands, bool groups, Walk walk, std::vector<Axis> axes,
              const std::function<void(const Walk&)>& add) {
  while (axes.size() > 1 && axes.back().size == 1) axes.pop_back();
  int64_t count = 1;
  for (const Axis& axis : axes) count *= axis.size;
  if (count >= kMostElements) {  // each half, of the outermost axis
    auto half = axes;
    half.back().size = axes.back().size / 2;
    add_walk(operands, groups, walk, half, add);
    for (size_t k = 0; k < operands.size(); ++k) {
      walk.data[k] += half.back().size * axes.back().strides[k] * element_size(operands[k].storage);
    }
    half.back().size = axes.back().size - half.back().size;
    return add_walk(operands, groups, walk, half, add);
  }
  const int64_t width = groups && has_groups(operands, walk, axes) ? kGroup : 1;
  walk.axes.rank = static_cast<int16_t>(axes.size());
  walk.axes.width = static_cast<int16_t>(width);
  walk.axes.count = static_cast<uint32_t>(count / width);
  for (size_t i = 0; i < axes.size(); ++i) {
    walk.axes.shape[i] = static_cast<uint32_t>(axes[i].size / (i == 0 ? width : 1));
    for (size_t k = 0; k < operands.size(); ++k) {
      walk.axes.strides[k][i] = axes[i].strides[k] * (i == 0 ? width : 1);
    }
  }
  add(walk);
}

}  // namespace

int64_t blocks_of(const Walk& walk) {
  return (int64_t{walk.axes.count} + kMostThreads - 1) / kMostThreads;
}
unsigned threads_of(const Walk& walk) {
  return std::min(kMostThreads, (walk.axes.count + 31) / 32 * 32);
}

void for_walks(std::span<const Operand> operands, bool groups,
               const std::function<void(const Walk&)>& add) {
  if (operands[0].size() == 0) return;
  Walk walk;
  for (size_t k = 0; k < operands.size(); ++k) walk.data[k] = operands[k].data;
  add_walk(operands, groups, walk, axes_of(operands), add);
}

}  // namespace pippin::cuda
