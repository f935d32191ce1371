// Llama 4 (Meta 2025): a tower whose queries and keys are rotated by column and row, with the class
// token last; neighbouring patches joined, two matrices of an adapter, and one more.
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/array/ops.h"
#include "pippin/models/config/common.h"
#include "pippin/models/vision/tile_tower.h"
#include "pippin/models/vision/tower_description.h"
#include "pippin/nn/layers/convolution.h"
#include "pippin/nn/vision/grid_rows.h"
#include "pippin/nn/vision/projector.h"

namespace pippin::models::vision {
namespace {

struct Llama4Tower {
  Tower tower;
  double theta = 10000.0;
  int64_t factor = 2, rows = 0;
  nn::ProjectorOptions adapter;
  int64_t width = 0;  // of the language model

  image::VisionPasses passes(const image::ImageInputs& inputs) const;
  array::Array record(const nn::Parameters& parameters, const array::Array& pixels,
                      const image::VisionShape& shape) const;
  array::Array embedded(const nn::Parameters& at, const array::Array& pixels) const;
  nn::Rotation rotation(mil::DataType type) const;
};

image::VisionPasses Llama4Tower::passes(const image::ImageInputs& inputs) const {
  const Tiles tiles =
      tiles_of(inputs, tower.net.patches.channels, tower.image.height, tower.image.width);
  return tile_passes(tiles, tower.net.grid.count(), rows, TileRuns::Each);
}

// Patches with their positions, and the class token.
array::Array Llama4Tower::embedded(const nn::Parameters& at, const array::Array& pixels) const {
  const nn::PatchEmbeddingOptions& patches = tower.net.patches;
  const int64_t features = patches.features, batch = pixels.dim(0).constant();
  const nn::Parameters linear = at.at(patches.path);
  const std::vector<int64_t> dims = {features, patches.channels, patches.height, patches.width};
  const array::Array weight = nn::reshaped_weight(linear.get("weight", {features, patches.size()}),
                                                  linear.path() + ".weight", dims);
  const nn::Convolution convolution(
      linear.path(), {.dims = dims, .bias = false, .strides = {patches.height, patches.width}},
      weight, std::nullopt);
  constexpr const char* kClass = "class_embedding";
  const array::Array token =
      nn::reshaped_weight(at.get(kClass, {features}), at.path() + "." + kClass, {1, 1, features});
  const array::Array all = array::concat({nn::rows_of_planes(convolution(pixels)),
                                          batch > 1 ? array::tile(token, {batch, 1, 1}) : token},
                                         1);
  return all + at.get("positional_embedding_vlm", {tower.net.grid.count() + 1, features});
}

// Coordinates count from 1; the class token is not rotated.
nn::Rotation Llama4Tower::rotation(mil::DataType type) const {
  const nn::Grid& grid = tower.net.grid;
  const int64_t quarter = tower.net.layers.front().attention().head_dim / 4;
  std::vector<double> angles;
  angles.reserve(static_cast<size_t>((grid.count() + 1) * 2 * quarter));
  for (int64_t place = 0; place < grid.count(); ++place) {
    for (const int64_t coordinate : {place % grid.width + 1, place / grid.width + 1}) {
      for (int64_t i = 0; i < quarter; ++i) {
        const double share = static_cast<double>(i) / static_cast<double>(quarter);
        angles.push_back(static_cast<double>(coordinate) * std::pow(theta, -share));
      }
    }
  }
  angles.resize(angles.size() + static_cast<size_t>(2 * quarter), 0.0);
  return nn::rotation_by(angles, grid.count() + 1, type);
}

array::Array Llama4Tower::record(const nn::Parameters& parameters, const array::Array& pixels,
                                 const image::VisionShape& /*shape*/) const {
  constexpr std::string_view kTowers[] = {"vision_model", "model.vision_model"};
  const nn::VisionTransformerOptions& net = tower.net;
  const nn::Parameters at = part_with(parameters, kTowers, "class_embedding");
  array::Array x = embedded(at, pixels);
  x = nn::Norm(at.at(net.first_norm), net.features(), net.norm)(x);
  const nn::VisionLayers layers(at.at(net.layers_path), net.layers);
  if (layers.size() > 0) {
    const nn::Rotation turned = rotation(x.type());
    x = layers(x, &turned);
  }
  x = nn::Norm(at.at(net.final_norm), net.features(), net.norm)(x);
  x = nn::join_patches(array::slice_axis(x, 1, 0, net.grid.count()), net.grid, factor);
  x = nn::apply(adapter.activation, nn::Projector(at.at("vision_adapter.mlp"), adapter)(x));
  const nn::Parameters projector = projector_of(parameters, "linear_1.weight");
  return nn::projection_of(projector.at("linear_1"), adapter.output_features, width,
                           /*bias=*/false)(x);
}

// Hugging Face's class has these norms and activations whatever norm_eps and hidden_act are.
Tower read_llama4_tower(const Config& vision) {
  Tower tower = siglip_like(vision, {.intermediate_size = 5632,
                                     .num_layers = 34,
                                     .num_heads = 16,
                                     .image_size = 448,
                                     .patch_size = 14,
                                     .activation = "gelu"});
  nn::VisionTransformerOptions& net = tower.net;
  if (net.grid.height != net.grid.width || net.patches.height != net.patches.width) {
    vision.unsupported("image_size", "images or patches that are not squares are not supported");
  }
  net.patches.path = "patch_embedding.linear";
  net.norm.epsilon = 1e-5;
  net.first_norm = "layernorm_pre";
  net.final_norm = "layernorm_post";
  net.layers_path = "model.layers";
  for (nn::LayerOptions& layer : net.layers) {
    layer.norm = net.norm;
    layer.attention_norm = "input_layernorm";
    layer.mlp_norm = "post_attention_layernorm";
    layer.mlp().activation = nn::Activation::Gelu;
    nn::AttentionOptions& attention = layer.attention();
    attention.output = "o_proj";
    attention.rope = 0;
    attention.rope_dims = attention.head_dim;
    attention.interleaved = true;
    if (attention.head_dim % 4 == 0) continue;
    vision.invalid("hidden_size", fmt::format("heads of {} numbers; multiples of 4 are possible",
                                              attention.head_dim));
  }
  vision.ignore({"norm_eps"});
  return tower;
}

}  // namespace

VisionDescription llama4_vision(const Config& config) {
  const Config vision = vision_part(config);
  Llama4Tower model;
  model.tower = read_llama4_tower(vision);
  const nn::VisionTransformerOptions& net = model.tower.net;
  const int64_t heads = vision.size("num_attention_heads", 16, kMaxHeads);
  const nn::RopeOptions rope = rope_options(vision, net.features() / heads, {});
  if (rope.scaling.kind != nn::RopeScaling::Kind::Default) {
    vision.unsupported("rope_parameters", "only rope_type 'default' is supported");
  }
  model.theta = rope.theta;
  model.factor = inverse_ratio(vision, "pixel_shuffle_ratio", 0.5);
  model.rows = joined_rows(vision, "pixel_shuffle_ratio", net.grid, model.factor);
  nn::ProjectorOptions& adapter = model.adapter;
  adapter.first = "fc1";
  adapter.second = "fc2";
  adapter.bias = false;
  adapter.features = model.factor * model.factor * net.features();
  adapter.hidden_features = vision.size("projector_input_dim", 4096);
  adapter.output_features = vision.size("projector_output_dim", 4096);
  const int64_t inputs = vision.size("intermediate_size", 5632);
  if (inputs != adapter.features) {
    vision.invalid("intermediate_size",
                   fmt::format("{}: joined patches have {} numbers", inputs, adapter.features));
  }
  for (const std::string_view key : {"projector_input_dim", "vision_output_dim"}) {
    const int64_t size = vision.size(key, key == "vision_output_dim" ? 7680 : 4096);
    if (size == adapter.output_features) continue;
    vision.invalid(key,
                   fmt::format("{}: projector_output_dim is {}", size, adapter.output_features));
  }
  const std::string strategy = vision.text("vision_feature_select_strategy", "default");
  if (strategy != "default" && strategy != "full") {
    vision.unsupported("vision_feature_select_strategy",
                       fmt::format("'{}' is not supported (supported: default, full)", strategy));
  }
  vision.refuse_unread();
  model.width = text_width(config);
  return description_of(std::move(model));
}

}  // namespace pippin::models::vision
