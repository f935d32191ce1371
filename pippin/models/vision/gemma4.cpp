// Gemma 4's vision tower (Hugging Face): patches of images of any size with positions in two
// dimensions, of which squares are averaged.
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/models/config/common.h"
#include "pippin/models/vision/gemma4_layer.h"
#include "pippin/models/vision/patch_inputs.h"
#include "pippin/models/vision/tiles.h"
#include "pippin/models/vision/tower_description.h"
#include "pippin/models/vision/vision_config.h"
#include "pippin/nn/vision/grid_rows.h"
#include "pippin/nn/vision/projector.h"
#include "pippin/nn/vision/vision_layers.h"

namespace pippin::models::vision {
namespace {

struct Gemma4Tower {
  Gemma4LayerOptions layer;
  int64_t num_layers = 0;
  int64_t patch = 0;          // numbers of a patch
  int64_t num_positions = 0;  // of a side
  int64_t pool = 3;           // patches of the side of a square that is averaged
  double theta = 100.0;
  bool standardize = false;
  int64_t width = 0;

  image::VisionPasses passes(const image::ImageInputs& inputs) const;
  array::Array record(const nn::Parameters& parameters, const array::Array& pixels,
                      const image::VisionShape& shape) const;

 private:
  nn::Grid checked_grid(std::span<const int64_t> positions) const;
  array::Array embedded(const nn::Parameters& at, const array::Array& pixels, nn::Grid grid) const;
  array::Array pooled(const array::Array& states, nn::Grid grid) const;
};

// The grid of the patches before the padding, whose positions (column, row) are -1.
nn::Grid grid_of_positions(std::span<const int64_t> ids) {
  nn::Grid grid;
  size_t count = 0;
  while (2 * count < ids.size() && ids[2 * count] >= 0) ++count;
  if (count > 0) grid = {ids[2 * count - 1] + 1, ids[2 * count - 2] + 1};
  bool is_grid = grid.width >= 1 && grid.height >= 1 && grid.width <= kMostPixels &&
                 grid.height <= kMostPixels && grid.count() == static_cast<int64_t>(count);
  for (size_t i = 0; is_grid && 2 * i + 1 < ids.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const bool padding = i >= count;
    is_grid = ids[2 * i] == (padding ? -1 : at % grid.width) &&
              ids[2 * i + 1] == (padding ? -1 : at / grid.width);
  }
  if (!is_grid) {
    fail(ErrorCode::InvalidArgument,
         "image_position_ids: the columns and rows of one grid, then -1, are expected");
  }
  return grid;
}

image::VisionPasses Gemma4Tower::passes(const image::ImageInputs& inputs) const {
  check_pixels(inputs);
  const auto found = inputs.sizes.find("image_position_ids");
  if (found == inputs.sizes.end()) {
    fail(ErrorCode::InvalidArgument, "the image has no image_position_ids");
  }
  const std::vector<int64_t>& dims = inputs.pixel_values.shape;
  const image::IntArray& ids = found->second;
  const bool is_table = dims.size() == 3 && (dims[0] == 1 || inputs.is_video());
  const std::vector<int64_t> wanted = {is_table ? dims[0] : 0, is_table ? dims[1] : 0, 2};
  if (!is_table || dims[2] != patch || ids.shape != wanted ||
      std::ssize(ids.values) != 2 * dims[0] * dims[1]) {
    fail(ErrorCode::InvalidArgument,
         "pixel_values ({}), image_position_ids ({}): one image of patches of {} numbers is "
         "expected",
         fmt::join(dims, ", "), fmt::join(ids.shape, ", "), patch);
  }
  image::VisionPasses passes;
  int64_t rows = 0;
  for (int64_t frame = 0; frame < dims[0]; ++frame) {
    const auto own =
        std::span(ids.values)
            .subspan(static_cast<size_t>(2 * frame * dims[1]), static_cast<size_t>(2 * dims[1]));
    const nn::Grid grid = checked_grid(own);
    const int64_t count = grid.count() / (pool * pool);
    passes.passes.push_back(
        {{{grid.count(), patch}, {1, grid.height, grid.width}}, frame * dims[1] * patch});
    passes.runs.push_back(run_of(rows, count));
    rows += count;
  }
  return passes;
}

nn::Grid Gemma4Tower::checked_grid(std::span<const int64_t> positions) const {
  const nn::Grid grid = grid_of_positions(positions);
  if (grid.height % pool != 0 || grid.width % pool != 0 || grid.height > num_positions ||
      grid.width > num_positions) {
    fail(ErrorCode::InvalidArgument,
         "image_position_ids: {}x{} patches; multiples of {} up to {} are expected", grid.height,
         grid.width, pool, num_positions);
  }
  return grid;
}

array::Array Gemma4Tower::embedded(const nn::Parameters& at, const array::Array& pixels,
                                   nn::Grid grid) const {
  const nn::Parameters embedder = at.at("patch_embedder");
  const nn::Linear matrix(embedder.at("input_proj"), patch, layer.features);
  const array::Array centered = patches_of(pixels, {1, grid}, patch) * 2.0 - 1.0;
  const array::Array x = matrix(centered);
  const array::Array tables =
      embedder.get("position_embedding_table", {2, num_positions, layer.features});
  const auto rows_of = [&](int64_t axis, int64_t count, const mil::Shape& dims) {
    const array::Array table = array::slice_axis(tables, 0, axis, axis + 1);
    return array::reshape(array::slice_axis(table, 1, 0, count), dims);
  };
  const array::Array columns = rows_of(0, grid.width, {1, grid.width, layer.features});
  const array::Array rows = rows_of(1, grid.height, {grid.height, 1, layer.features});
  return x + array::reshape(rows + columns, {1, grid.count(), layer.features});
}

array::Array Gemma4Tower::pooled(const array::Array& states, nn::Grid grid) const {
  return nn::pool_patches(states, grid, pool) * std::sqrt(static_cast<double>(layer.features));
}

array::Array Gemma4Tower::record(const nn::Parameters& parameters, const array::Array& pixels,
                                 const image::VisionShape& shape) const {
  const nn::Parameters at = vision_tower_of(parameters, "patch_embedder.input_proj.weight");
  const nn::Grid grid = grid_of(shape).grid;
  array::Array x = embedded(at, pixels, grid);
  // Angles of columns for the first half of each head, of rows for the second.
  const int64_t dims = layer.head_dim / 2;
  const nn::RopeOptions rope{.dims = dims, .theta = theta, .scaling = {}};
  const std::vector<double> frequencies = nn::rope_frequencies(rope);
  std::vector<double> by_column, by_row;
  for (int64_t i = 0; i < grid.count(); ++i) {
    const int64_t column = i % grid.width, row = i / grid.width;
    for (const double frequency : frequencies) {
      by_column.push_back(static_cast<double>(column) * frequency);
      by_row.push_back(static_cast<double>(row) * frequency);
    }
  }
  const nn::Rotation columns = nn::rotation_by(by_column, grid.count(), at.type());
  const nn::Rotation rows = nn::rotation_by(by_row, grid.count(), at.type());
  for (int64_t i = 0; i < num_layers; ++i) {
    x = Gemma4Layer(at.at("encoder.layers").at(i), layer)(x, columns, rows);
  }
  x = pooled(x, grid);
  if (standardize) {
    x = (x - at.get("std_bias", {layer.features})) * at.get("std_scale", {layer.features});
  }
  constexpr std::string_view kEmbedders[] = {"model.embed_vision", "embed_vision"};
  const nn::Parameters end = part_with(parameters, kEmbedders, "embedding_projection.weight");
  const nn::Norm norm(end.at("embedding_pre_projection_norm"), layer.features,
                      nn::without_weight(layer.norm));
  return nn::projection_of(end.at("embedding_projection"), layer.features, width,
                           /*bias=*/false)(norm(x));
}

}  // namespace

VisionDescription gemma4_vision(const Config& config) {
  const Config vision = vision_part(config);
  Gemma4Tower model;
  Gemma4LayerOptions& layer = model.layer;
  layer.features = vision.size("hidden_size", 768);
  layer.hidden_features = vision.size("intermediate_size", 3072);
  layer.num_heads = vision.size("num_attention_heads", 12, kMaxHeads);
  layer.num_kv_heads = vision.size("num_key_value_heads", 12, kMaxHeads);
  layer.head_dim = vision.size("head_dim", 64, kMaxHeadDim);
  vision.require_multiple("num_attention_heads", layer.num_heads, "num_key_value_heads",
                          layer.num_kv_heads);
  if (layer.head_dim % 4 != 0) {
    vision.invalid("head_dim", fmt::format("{} is not a multiple of 4", layer.head_dim));
  }
  layer.norm = {.kind = nn::NormOptions::Kind::RMS, .epsilon = vision.number("rms_norm_eps", 1e-6)};
  layer.activation = vision.activation("hidden_activation", "gelu_pytorch_tanh");
  vision.require_flag("attention_bias", false, false);
  layer.clips = vision.flag("use_clipped_linears", false);
  model.num_layers = vision.size("num_hidden_layers", 16, kMaxLayers);
  const int64_t side = vision.size("patch_size", 16, kMostPixels);
  model.patch = 3 * side * side;
  model.num_positions = vision.size("position_embedding_size", 10240);
  model.pool = vision.size("pooling_kernel_size", 3, 64);
  const auto rope = vision.find("rope_parameters");
  if (rope) model.theta = Config(*rope).number("rope_theta", 100.0);
  model.standardize = vision.flag("standardize", false);
  vision.refuse_unread();
  model.width = text_width(config);
  VisionDescription description = description_of(model);
  for (const char* part : {"audio_tower.", "embed_audio."}) {
    description.unused.push_back(part);
    description.unused.push_back(std::string("model.") + part);
  }
  return description;
}

}  // namespace pippin::models::vision
