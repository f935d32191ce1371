// BEiT (Bao et al. 2021): a ViT whose scores have a bias for the distance of patches, by head and
// layer, in place of positions. It classifies, or gives the pooled states.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pippin/array/ops.h"
#include "pippin/models/vision/tiles.h"
#include "pippin/models/vision/vision_config.h"
#include "pippin/models/vision/vision_description.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/vision/patch_embedding.h"
#include "pippin/nn/vision/vision_layers.h"

namespace pippin::models::vision {
namespace {

using array::Array;

struct Beit {
  Tower tower;
  bool means = true;  // of the patches, after a norm; else the class token's state
  bool biased = true;
  std::optional<VisionLabels> labels;

  Array record(const nn::Parameters& parameters, const Array& pixels) const;

 private:
  Array states(const nn::Parameters& at, const Array& pixels) const;
  Array bias(const nn::Parameters& attention) const;
};

// (1, heads, 1 + patches, 1 + patches). The table has a row for each distance of rows and columns,
// then those of the class token to patches, of patches to it, and of it to itself.
Array Beit::bias(const nn::Parameters& attention) const {
  const nn::Grid grid = tower.net.grid;
  const int64_t across = 2 * grid.width - 1, distances = (2 * grid.height - 1) * across;
  const int64_t count = 1 + grid.count();
  const int64_t heads = tower.net.layers.front().attention().num_heads;
  const auto row_of = [&](int64_t query, int64_t key) {
    if (query == 0) return distances + (key == 0 ? 2 : 0);
    if (key == 0) return distances + 1;
    const int64_t q = query - 1, k = key - 1;
    const int64_t rows = q / grid.width - k / grid.width + grid.height - 1;
    return rows * across + q % grid.width - k % grid.width + grid.width - 1;
  };
  const std::vector<int64_t> dims = {1, heads, count, count};
  return attention.made("relative_position_bias", dims, [&](const std::string& full) {
    const std::vector<double> table = attention.values(
        "relative_position_bias.relative_position_bias_table", {distances + 3, heads});
    std::vector<double> values;
    values.reserve(static_cast<size_t>(heads * count * count));
    for (int64_t head = 0; head < heads; ++head) {
      for (int64_t query = 0; query < count; ++query) {
        for (int64_t key = 0; key < count; ++key) {
          values.push_back(table[static_cast<size_t>(row_of(query, key) * heads + head)]);
        }
      }
    }
    return array::constant(attention.type(), dims, values, full);
  });
}

Array Beit::states(const nn::Parameters& at, const Array& pixels) const {
  const nn::VisionTransformerOptions& net = tower.net;
  const int64_t features = net.features(), batch = pixels.dim(0).constant();
  const Array patches = nn::PatchEmbedding(at, net.patches)(pixels);
  const Array token = at.get(net.class_token, net.class_dims);
  Array x = array::concat({batch > 1 ? array::tile(token, {batch, 1, 1}) : token, patches}, 1);
  const nn::Parameters layers = at.at(net.layers_path);
  const nn::VisionLayers run(layers, net.layers);
  for (size_t i = 0; i < run.size(); ++i) {
    if (!biased) {
      x = run.run(i, x);
      continue;
    }
    const Array mask = bias(layers.at(static_cast<int64_t>(i)).at("attention.attention"));
    x = run.run(i, x, nullptr, &mask);
  }
  if (means) {
    const Array mean = array::reduce_mean(array::slice_axis(x, 1, 1, x.dim(1)), {1},
                                          /*keep_dims=*/true);
    return nn::Norm(at.at("pooler.layernorm"), features, net.norm)(mean);
  }
  return nn::Norm(at.at(net.final_norm), features, net.norm)(array::slice_axis(x, 1, 0, 1));
}

Array Beit::record(const nn::Parameters& parameters, const Array& pixels) const {
  constexpr std::string_view kBases[] = {"beit", ""};
  Array pooled = states(
      part_with(parameters, kBases, "embeddings.patch_embeddings.projection.weight"), pixels);
  if (!labels) return pooled;
  return nn::Linear(parameters.at("classifier"), tower.net.features(), std::ssize(labels->names),
                    /*bias=*/true)(pooled);
}

}  // namespace

VisionDescription beit(const Config& config) {
  auto model = std::make_shared<Beit>();
  model->tower = vit_like(config, {.activation = "gelu", .epsilon = 1e-12});
  const bool scaled = config.number("layer_scale_init_value", 0.1) > 0;
  for (nn::LayerOptions& layer : model->tower.net.layers) {
    layer.attention_norm = "layernorm_before";
    layer.mlp_norm = "layernorm_after";
    layer.attention().key_bias = false;
    if (scaled) layer.attention_added.scale = "lambda_1";
    if (scaled) layer.mlp_added.scale = "lambda_2";
    layer.mlp_path = "";
    layer.mlp().up = "intermediate.dense";
    layer.mlp().down = "output.dense";
  }
  model->means = config.flag("use_mean_pooling", true);
  model->biased = config.flag("use_relative_position_bias", false);
  config.require_flag("use_absolute_position_embeddings", false, false);
  config.require_flag("use_shared_relative_position_bias", false, false);
  model->labels = read_labels(config, "BeitModel", "BeitForImageClassification");
  VisionDescription description;
  description.result = model->labels ? VisionResult::Scores : VisionResult::Vector;
  if (model->labels) description.labels = *model->labels;
  description.unused = {"embeddings.mask_token", "beit.embeddings.mask_token"};
  description.passes = [model](const image::ImageInputs& inputs) {
    const Tower& tower = model->tower;
    const Tiles tiles =
        tiles_of(inputs, tower.net.patches.channels, tower.image.height, tower.image.width);
    return tile_passes(tiles, tower.net.grid.count() + 1, 1, TileRuns::Each);
  };
  description.record = [model](const nn::Parameters& parameters, const array::Array& pixels,
                               const image::VisionShape& /*shape*/) {
    return model->record(parameters, pixels);
  };
  return description;
}

}  // namespace pippin::models::vision
