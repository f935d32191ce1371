#include "pippin/nn/vision/patch_grid.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace pippin::nn {

std::vector<int64_t> block_order(Grid grid, int64_t side) {
  std::vector<int64_t> order;
  order.reserve(static_cast<size_t>(grid.count()));
  for (int64_t y = 0; y < grid.height; y += side) {
    for (int64_t x = 0; x < grid.width; x += side) {
      for (int64_t i = 0; i < side * side; ++i) {
        order.push_back((y + i / side) * grid.width + x + i % side);
      }
    }
  }
  return order;
}

std::vector<double> patch_angles(Grid grid, const std::vector<int64_t>& order, PatchRope rope,
                                 int64_t dims, double theta) {
  const bool alternating = rope == PatchRope::Alternating;
  const auto frequency = [&](int64_t i) {
    const auto share =
        static_cast<double>(2 * i) / static_cast<double>(alternating ? dims : dims / 2);
    return std::pow(theta, -share);
  };
  std::vector<double> rows, columns;
  rows.reserve(static_cast<size_t>(dims / 4));
  columns.reserve(static_cast<size_t>(dims / 4));
  for (int64_t i = 0; i < dims / 4; ++i) {
    rows.push_back(frequency(alternating ? 2 * i : i));
    columns.push_back(frequency(alternating ? 2 * i + 1 : i));
  }
  std::vector<double> angles;
  angles.reserve(order.size() * static_cast<size_t>(dims / 2));
  for (const int64_t place : order) {
    const int64_t row = place / grid.width, column = place % grid.width;
    for (const double one : rows) angles.push_back(static_cast<double>(row) * one);
    for (const double one : columns) angles.push_back(static_cast<double>(column) * one);
  }
  return angles;
}

PatchWindows cut_windows(Grid grid, int64_t block, int64_t side) {
  const Grid blocks{grid.height / block, grid.width / block};
  const int64_t size = block * block;
  // By the sizes of windows, so that those of a group are alike.
  std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>> by_size;
  for (int64_t top = 0; top < blocks.height; top += side) {
    for (int64_t left = 0; left < blocks.width; left += side) {
      const int64_t height = std::min(side, blocks.height - top);
      const int64_t width = std::min(side, blocks.width - left);
      std::vector<int64_t>& places = by_size[{height, width}];
      for (int64_t i = 0; i < height * width * size; ++i) {
        const int64_t row = top + i / size / width, column = left + i / size % width;
        places.push_back((row * blocks.width + column) * size + i % size);
      }
    }
  }
  PatchWindows windows;
  windows.groups.reserve(by_size.size());
  windows.order.reserve(static_cast<size_t>(grid.count()));
  for (const auto& [sizes, places] : by_size) {
    const int64_t patches = sizes.first * sizes.second * size;
    windows.groups.push_back({std::ssize(places) / patches, patches});
    windows.order.insert(windows.order.end(), places.begin(), places.end());
  }
  return windows;
}

std::vector<int64_t> inverse_order(const std::vector<int64_t>& order) {
  std::vector<int64_t> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  return inverse;
}

}  // namespace pippin::nn
