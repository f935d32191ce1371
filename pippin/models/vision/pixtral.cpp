// Pixtral's tower (Hugging Face) in LLaVA's form and, with neighbouring patches merged, in Mistral
// Small 3.1's: images of any size, of which the prompt has a run for each row of patches.
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/models/config/common.h"
#include "pippin/models/vision/patch_inputs.h"
#include "pippin/models/vision/tiles.h"
#include "pippin/models/vision/tower_description.h"
#include "pippin/models/vision/vision_config.h"
#include "pippin/nn/vision/grid_rows.h"
#include "pippin/nn/vision/projector.h"

namespace pippin::models::vision {
namespace {

struct PixtralTower {
  nn::PatchEmbeddingOptions patches;
  nn::PatchTransformerOptions tower;
  nn::ProjectorOptions projector;
  int64_t factor = 1;      // of patches that are merged
  nn::NormOptions merger;  // its norm

  image::VisionPasses passes(const image::ImageInputs& inputs) const;
  array::Array record(const nn::Parameters& parameters, const array::Array& pixels,
                      const image::VisionShape& shape) const;

 private:
  array::Array merged(const nn::Parameters& at, const array::Array& states, nn::Grid grid) const;
};

image::VisionPasses PixtralTower::passes(const image::ImageInputs& inputs) const {
  const Tiles tiles = tiles_of(inputs);
  const image::IntArray& sizes = table_of(inputs, "image_sizes", 2);
  const int64_t height = sizes.values[0], width = sizes.values[1], side = patches.height * factor;
  const bool fits = tiles.count == 1 && sizes.shape[0] == 1 && tiles.channels == patches.channels &&
                    height >= side && height <= tiles.height && height % side == 0 &&
                    width >= side && width <= tiles.width && width % side == 0;
  if (!fits) {
    fail(ErrorCode::InvalidArgument,
         "image_sizes ({}), pixel_values ({}): one image of {} channels is expected, whose height "
         "and width are multiples of {}",
         fmt::join(sizes.values, ", "), fmt::join(inputs.pixel_values.shape, ", "),
         patches.channels, side);
  }
  image::VisionPasses passes;
  passes.passes = {{{{1, tiles.channels, tiles.height, tiles.width}, {1, height, width}}, 0}};
  const int64_t rows = height / side, columns = width / side;
  passes.runs.reserve(static_cast<size_t>(rows));
  for (int64_t row = 0; row < rows; ++row) passes.runs.push_back(run_of(row * columns, columns));
  return passes;
}

array::Array PixtralTower::merged(const nn::Parameters& at, const array::Array& states,
                                  nn::Grid grid) const {
  const array::Array normed = nn::Norm(at.at("norm"), tower.features, merger)(states);
  const int64_t joined = factor * factor;
  const array::Array rows = convolution_order(nn::join_patches(normed, grid, factor), joined);
  return nn::Linear(at.at("patch_merger.merging_layer"), tower.features * joined,
                    tower.features)(rows);
}

array::Array PixtralTower::record(const nn::Parameters& parameters, const array::Array& pixels,
                                  const image::VisionShape& shape) const {
  const nn::Parameters at = vision_tower_of(parameters, "patch_conv.weight");
  const nn::Grid image = grid_of(shape).grid;
  const nn::Grid grid{image.height / patches.height, image.width / patches.width};
  array::Array x = pixels;
  // Images of a batch are padded to equal sizes.
  if (image.height < pixels.dim(2).constant()) x = array::slice_axis(x, 2, 0, image.height);
  if (image.width < pixels.dim(3).constant()) x = array::slice_axis(x, 3, 0, image.width);
  x = nn::PatchTransformer(at, tower)(nn::PatchEmbedding(at, patches)(x), grid);
  const nn::Parameters end = projector_of(parameters, "linear_1.weight");
  return nn::Projector(end, projector)(factor > 1 ? merged(end, x, grid) : x);
}

Tower read_tower(const Config& vision) {
  Tower result;
  nn::VisionTransformerOptions& tower = result.net;
  tower.patches.path = "patch_conv";
  tower.patches.features = vision.size("hidden_size", 1024);
  tower.patches.channels = vision.size("num_channels", 3, 16);
  tower.patches.height = tower.patches.width = vision.size("patch_size", 16, kMostPixels);
  tower.patches.bias = false;
  tower.norm = {.kind = nn::NormOptions::Kind::RMS, .epsilon = 1e-5};
  tower.first_norm = "ln_pre";
  tower.layers_path = "transformer.layers";

  nn::LayerOptions layer;
  layer.features = tower.features();
  layer.norm = tower.norm;
  layer.attention_norm = "attention_norm";
  layer.mlp_norm = "ffn_norm";
  layer.attention_path = "attention";
  layer.mlp_path = "feed_forward";
  nn::AttentionOptions& attention = layer.attention();
  attention.features = tower.features();
  attention.num_heads = vision.size("num_attention_heads", 16, kMaxHeads);
  vision.require_multiple("hidden_size", tower.features(), "num_attention_heads",
                          attention.num_heads);
  attention.num_kv_heads = attention.num_heads;
  attention.head_dim = tower.features() / attention.num_heads;
  nn::MLPOptions& mlp = layer.mlp();
  mlp.features = tower.features();
  mlp.hidden_features = vision.size("intermediate_size", 4096);
  mlp.activation = vision.activation("hidden_act", "gelu");
  const int64_t count = vision.size("num_hidden_layers", 24, kMaxLayers);
  tower.layers.assign(static_cast<size_t>(count), layer);
  return result;
}

struct PixtralDefaults {
  int64_t feature_layer;
  bool projector_bias;
};

VisionDescription describe(const Config& config, int64_t factor, double epsilon,
                           const PixtralDefaults& defaults) {
  const Config vision = vision_part(config);
  const std::string type = vision.text("model_type", "pixtral");
  if (type != "pixtral") {
    vision.unsupported("model_type",
                       fmt::format("'{}' is not supported (supported: pixtral)", type));
  }
  Tower tower = read_tower(vision);
  std::vector<std::string> unused;
  keep_feature_layers(config, defaults.feature_layer, tower, unused);
  PixtralTower model;
  model.patches = tower.net.patches;
  model.tower = patch_tower(tower.net);
  model.tower.rope = nn::PatchRope::Alternating;
  const auto rope = vision.find("rope_parameters");
  model.tower.theta = (rope ? Config(*rope) : vision).number("rope_theta", 10000.0);
  check_rotated(vision, model.tower);
  vision.refuse_unread();
  model.factor = factor;
  model.merger = {.kind = nn::NormOptions::Kind::RMS, .epsilon = epsilon};
  const int64_t width = text_width(config);
  model.projector = {.features = model.tower.features,
                     .hidden_features = width,
                     .output_features = width,
                     .norm = {},
                     .bias = config.flag("multimodal_projector_bias", defaults.projector_bias),
                     .activation = config.activation("projector_hidden_act", "gelu")};
  VisionDescription description = description_of(std::move(model));
  description.unused = std::move(unused);
  return description;
}

}  // namespace

VisionDescription pixtral(const Config& config) {
  constexpr std::string_view kStrategy = "vision_feature_select_strategy";
  if (const std::string strategy = config.text(kStrategy, "default"); strategy != "full") {
    config.unsupported(kStrategy, fmt::format("'{}' is not supported for Pixtral's tower "
                                              "(supported: full)",
                                              strategy));
  }
  return describe(config, 1, 1e-5, {.feature_layer = -2, .projector_bias = true});
}

VisionDescription mistral3_vision(const Config& config) {
  const auto text = config.find("text_config");
  return describe(config, config.size("spatial_merge_size", 2, 64),
                  text ? Config(*text).number("rms_norm_eps", 1e-6) : 1e-6,
                  {.feature_layer = -1, .projector_bias = false});
}

}  // namespace pippin::models::vision
