#include "pippin/nn/vision/vision_transformer.h"

#include <algorithm>

#include <fmt/format.h>

#include "pippin/array/ops.h"

namespace pippin::nn {

using array::Array;

namespace {

std::optional<Norm> norm_called(const Parameters& parameters, const std::string& name,
                                const VisionTransformerOptions& options) {
  if (name.empty()) return std::nullopt;
  return Norm(parameters.at(name), options.features(), options.norm);
}

// For each place of `to`, the one of `from` at its share of the axis or just before.
std::vector<double> nearest_rows(const std::vector<double>& rows, int64_t features, Grid from,
                                 Grid to) {
  // Shares are slightly below those of the grid's edges, as the model was trained.
  constexpr double kBelow = 1 - 1e-6;
  const auto place = [](int64_t i, int64_t count, int64_t all) {
    const double share = static_cast<double>(i) / static_cast<double>(count) * kBelow;
    // Boundaries between buckets are computed in fp32.
    const auto bucket = static_cast<int64_t>(share * static_cast<double>(all) + 1e-5);
    return std::min(bucket, all - 1);
  };
  std::vector<double> result;
  result.reserve(static_cast<size_t>(to.count() * features));
  for (int64_t y = 0; y < to.height; ++y) {
    for (int64_t x = 0; x < to.width; ++x) {
      const int64_t row =
          place(y, to.height, from.height) * from.width + place(x, to.width, from.width);
      const auto begin = rows.begin() + row * features;
      result.insert(result.end(), begin, begin + features);
    }
  }
  return result;
}

}  // namespace

VisionTransformer::VisionTransformer(const Parameters& parameters,
                                     const VisionTransformerOptions& options)
    : options_(options),
      parameters_(parameters),
      patches_(parameters, options.patches),
      patch_norm_(norm_called(parameters, options.patch_norm, options)),
      first_norm_(norm_called(parameters, options.first_norm, options)),
      final_norm_(norm_called(parameters, options.final_norm, options)),
      layers_(parameters.at(options.layers_path), options.layers) {}

Array VisionTransformer::positions(Grid grid) const {
  const int64_t features = options_.features(), classes = options_.class_token.empty() ? 0 : 1;
  const int64_t rows = options_.grid.count() + classes;
  std::vector<int64_t> dims = options_.position_axes;
  dims.insert(dims.end(), {rows, features});
  const std::string& name = options_.positions;
  if (grid == options_.grid) return parameters_.get(name, dims);
  const std::string own = fmt::format("{}.{}x{}", name, grid.height, grid.width);
  const std::vector<int64_t> made_dims = {grid.count() + classes, features};
  return parameters_.made(own, made_dims, [&](const std::string& full) {
    const std::vector<double> stored = parameters_.values(name, dims);
    const auto begin = stored.begin() + classes * features;
    std::vector<double> made(stored.begin(), begin);
    const std::vector<double> table(begin, stored.end());
    const std::vector<double> resized =
        options_.resizing ? resize_grid(table, features, options_.grid, grid, *options_.resizing)
                          : nearest_rows(table, features, options_.grid, grid);
    made.insert(made.end(), resized.begin(), resized.end());
    return array::constant(parameters_.type(), made_dims, made, full);
  });
}

Array VisionTransformer::operator()(const Array& pixels, const Observer& observer) const {
  const Grid grid{pixels.dim(2).constant() / options_.patches.height,
                  pixels.dim(3).constant() / options_.patches.width};
  Array x = patches_(pixels);
  if (patch_norm_) x = (*patch_norm_)(x);
  const auto tiled = [&](const Array& rows) {
    const int64_t batch = pixels.dim(0).constant();
    return batch > 1 ? array::tile(rows, {batch, 1, 1}) : rows;
  };
  if (!options_.class_token.empty()) {
    const std::string name = parameters_.path() + "." + options_.class_token;
    const Array token = reshaped_weight(parameters_.get(options_.class_token, options_.class_dims),
                                        name, {1, 1, options_.features()});
    x = array::concat({tiled(token), x}, 1);
  }
  if (!options_.positions.empty()) x = x + positions(grid);
  if (options_.num_registers > 0) {
    const Array rows =
        parameters_.get(options_.registers, {1, options_.num_registers, options_.features()});
    const int64_t before = options_.num_classes() - options_.num_registers;
    x = array::concat({array::slice_axis(x, 1, 0, before), tiled(rows),
                       array::slice_axis(x, 1, before, x.dim(1))},
                      1);
  }
  if (first_norm_) x = (*first_norm_)(x);
  for (size_t i = 0; i < layers_.size(); ++i) {
    x = layers_.run(i, x);
    if (observer) observer(i, x);
  }
  return final_norm_ ? (*final_norm_)(x) : x;
}

Array VisionTransformer::of_patches(const Array& pixels) const {
  const Array states = (*this)(pixels);
  const int64_t classes = options_.num_classes();
  return classes > 0 ? array::slice_axis(states, 1, classes, states.dim(1)) : states;
}

}  // namespace pippin::nn
