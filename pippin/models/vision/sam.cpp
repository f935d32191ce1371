#include "pippin/models/vision/sam.h"

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/models/config/common.h"
#include "pippin/models/vision/vision_config.h"

namespace pippin::models::vision {

nn::SamEncoderOptions SamTower::for_grid(nn::Grid grid) const {
  nn::SamEncoderOptions options = net;
  for (size_t i = 0; i < options.layers.size(); ++i) {
    nn::GridAttentionOptions& attention = options.layers[i].attention;
    attention.height = grid.height;
    attention.width = grid.width;
    attention.window = sees_all[i] ? 0 : window;
  }
  return options;
}

nn::Grid SamTower::grid_of(const Tiles& tiles) const {
  const nn::PatchEmbeddingOptions& patches = net.patches;
  if (tiles.channels != patches.channels || tiles.height % patches.height != 0 ||
      tiles.width % patches.width != 0) {
    fail(ErrorCode::InvalidArgument,
         "images of {} channels and {}x{} pixels: the model takes {} channels and patches of {}x{}",
         tiles.channels, tiles.height, tiles.width, patches.channels, patches.height,
         patches.width);
  }
  return {tiles.height / patches.height, tiles.width / patches.width};
}

SamTower read_sam(const Config& config) {
  SamTower tower;
  nn::SamEncoderOptions& net = tower.net;
  net.patches.path = "patch_embed.projection";
  net.patches.features = config.size("hidden_size", 768);
  net.patches.channels = config.size("num_channels", 3, 16);
  net.patches.height = net.patches.width = config.size("patch_size", 16, kMostPixels);
  const int64_t image = config.size("image_size", 1024, kMostPixels);
  config.require_multiple("image_size", image, "patch_size", net.patches.height);
  net.grid = {image / net.patches.height, image / net.patches.width};
  net.resizing = {.kind = nn::GridResizing::Kind::Bicubic, .antialias = true};
  if (!config.flag("use_abs_pos", true)) net.positions = "";
  net.neck_features = config.size("output_channels", 256);
  // The neck's norms have another epsilon than the layers'.
  net.norm = {.kind = nn::NormOptions::Kind::Layer, .epsilon = 1e-6, .bias = true};
  tower.window = config.size("window_size", 14, kMostPixels);

  nn::SamLayerOptions layer;
  layer.norm = net.norm;
  layer.norm.epsilon = config.number("layer_norm_eps", 1e-6);
  nn::GridAttentionOptions& attention = layer.attention;
  attention.features = net.patches.features;
  attention.num_heads = config.size("num_attention_heads", 12, kMaxHeads);
  config.require_multiple("hidden_size", attention.features, "num_attention_heads",
                          attention.num_heads);
  attention.bias = config.flag("qkv_bias", true);
  nn::MLPOptions& mlp = layer.mlp;
  mlp.features = attention.features;
  const double ratio = config.number("mlp_ratio", 4.0);
  mlp.hidden_features =
      config.size("mlp_dim", static_cast<int64_t>(static_cast<double>(attention.features) * ratio));
  mlp.activation = config.activation("hidden_act", "gelu");
  mlp.gated = false;
  mlp.bias = true;
  mlp.up = "lin1";
  mlp.down = "lin2";
  const auto count = static_cast<size_t>(config.size("num_hidden_layers", 12, kMaxLayers));
  tower.sees_all.assign(count, false);
  const auto given = config.find("global_attn_indexes");
  const std::vector<int64_t> all = given ? given->as_ints() : std::vector<int64_t>{2, 5, 8, 11};
  for (const int64_t index : all) {
    if (index < 0 || index >= std::ssize(tower.sees_all)) {
      config.invalid("global_attn_indexes",
                     fmt::format("{} is not one of {} layers", index, count));
    }
    tower.sees_all[static_cast<size_t>(index)] = true;
  }
  const bool relative = config.flag("use_rel_pos", true);
  net.layers.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    if (relative) {
      attention.table_height = tower.sees_all[i] ? net.grid.height : tower.window;
      attention.table_width = tower.sees_all[i] ? net.grid.width : tower.window;
    }
    net.layers.push_back(layer);
  }
  return tower;
}

}  // namespace pippin::models::vision
