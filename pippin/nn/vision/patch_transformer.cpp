#include "pippin/nn/vision/patch_transformer.h"

#include <utility>

#include <fmt/format.h>

#include "pippin/array/ops.h"

namespace pippin::nn {

using array::Array;

namespace {

std::optional<Norm> norm_at(const Parameters& parameters, const std::string& name,
                            const PatchTransformerOptions& options) {
  if (name.empty()) return std::nullopt;
  return Norm(parameters.at(name), options.features, options.norm);
}

// Windows of a group as elements of a batch, and the rotation of their patches.
struct GroupedRotation {
  PatchWindows::Group group;
  int64_t begin = 0, end = 0;  // of its patches
  std::optional<Rotation> rotation;
};

std::vector<GroupedRotation> grouped(const PatchWindows& windows, int64_t frames,
                                     const std::optional<Rotation>& all) {
  std::vector<GroupedRotation> parts;
  parts.reserve(windows.groups.size());
  int64_t begin = 0;
  for (const PatchWindows::Group& group : windows.groups) {
    const int64_t end = begin + group.windows * group.patches;
    const auto part = [&, first = begin](const Array& x) {
      const Array cut = array::reshape(array::slice_axis(x, 2, first, end),
                                       {group.windows, 1, group.patches, x.dim(3)});
      return frames > 1 ? array::tile(cut, {frames, 1, 1, 1}) : cut;
    };
    GroupedRotation& made = parts.emplace_back(GroupedRotation{group, begin, end, std::nullopt});
    if (all) made.rotation = Rotation{part(all->cos), part(all->sin)};
    begin = end;
  }
  return parts;
}

}  // namespace

PatchTransformer::PatchTransformer(const Parameters& parameters,
                                   const PatchTransformerOptions& options)
    : options_(options),
      parameters_(parameters),
      first_norm_(norm_at(parameters, options.first_norm, options)),
      final_norm_(norm_at(parameters, options.final_norm, options)),
      layers_(parameters.at(options.layers_path), options.layers) {}

Array PatchTransformer::positions(Grid grid, const std::vector<int64_t>& order) const {
  const int64_t features = options_.features;
  const std::string name = fmt::format("{}.{}x{}", options_.positions, grid.height, grid.width);
  const std::vector<int64_t> dims = {grid.count(), features};
  return parameters_.made(name, dims, [&](const std::string& full) {
    const std::vector<double> table =
        parameters_.values(options_.positions, {options_.grid.count(), features});
    const std::vector<double> resized =
        resize_grid(table, features, options_.grid, grid, options_.resizing);
    std::vector<double> rows;
    rows.reserve(resized.size());
    for (const int64_t place : order) {
      const auto row = resized.begin() + place * features;
      rows.insert(rows.end(), row, row + features);
    }
    return array::constant(parameters_.type(), dims, rows, full);
  });
}

std::optional<Rotation> PatchTransformer::rotation(Grid grid,
                                                   const std::vector<int64_t>& order) const {
  if (options_.rope == PatchRope::None || options_.layers.empty()) return std::nullopt;
  const int64_t dims = options_.layers.front().attention().head_dim;
  return rotation_by(patch_angles(grid, order, options_.rope, dims, options_.theta), grid.count(),
                     parameters_.type());
}

Array PatchTransformer::operator()(const Array& patches, Grid grid,
                                   const Observer& observer) const {
  Array x = first_norm_ ? (*first_norm_)(patches) : patches;
  const std::vector<int64_t> order = block_order(grid, options_.block);
  if (!options_.positions.empty()) x = x + positions(grid, order);
  if (options_.window > 0) {
    x = in_windows(x, grid, order);
  } else {
    const std::optional<Rotation> turned = rotation(grid, order);
    for (size_t i = 0; i < layers_.size(); ++i) {
      x = layers_.run(i, x, turned ? &*turned : nullptr);
      if (observer) observer(i, x);
    }
  }
  return final_norm_ ? (*final_norm_)(x) : x;
}

Array PatchTransformer::in_windows(Array x, Grid grid, const std::vector<int64_t>& order) const {
  const PatchWindows windows = cut_windows(grid, options_.block, options_.window);
  std::vector<int64_t> places;
  places.reserve(order.size());
  for (const int64_t index : windows.order) places.push_back(order[static_cast<size_t>(index)]);
  const std::optional<Rotation> all = rotation(grid, places);
  const int64_t frames = x.dim(0).constant();
  const std::vector<GroupedRotation> groups = grouped(windows, frames, all);

  x = array::gather(x, array::constant(windows.order), 1);
  std::vector<Array> parts;  // of the groups; empty while x holds all patches
  const auto join = [&] {
    if (parts.empty()) return;
    for (size_t i = 0; i < parts.size(); ++i) {
      const int64_t patches = groups[i].end - groups[i].begin;
      parts[i] = array::reshape(parts[i], {frames, patches, options_.features});
    }
    x = parts.size() > 1 ? array::concat(parts, 1) : parts.front();
    parts.clear();
  };
  const auto cut = [&] {
    if (!parts.empty()) return;
    parts.reserve(groups.size());
    for (const GroupedRotation& one : groups) {
      const Array patches = groups.size() > 1 ? array::slice_axis(x, 1, one.begin, one.end) : x;
      parts.push_back(array::reshape(
          patches, {frames * one.group.windows, one.group.patches, options_.features}));
    }
  };
  for (size_t layer = 0; layer < layers_.size(); ++layer) {
    if (options_.sees_all.at(layer)) {
      join();
      x = layers_.run(layer, x, all ? &*all : nullptr);
      continue;
    }
    cut();
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto& turned = groups[i].rotation;
      parts[i] = layers_.run(layer, parts[i], turned ? &*turned : nullptr);
    }
  }
  join();
  return array::gather(x, array::constant(inverse_order(windows.order)), 1);
}

}  // namespace pippin::nn
