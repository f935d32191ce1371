#include "pippin/models/vision/vision_config.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/io/json.h"
#include "pippin/models/config/common.h"

namespace pippin::models::vision {

Config vision_part(const Config& config) {
  const auto part = config.find("vision_config");
  return Config(part ? *part : Json::parse("{}", config.json().where("vision_config")));
}

int64_t text_width(const Config& config) {
  const auto text = config.find("text_config");
  return text ? Config(*text).size("hidden_size", 0) : config.size("hidden_size", 0);
}

nn::Grid size_pair(const Config& config, std::string_view key, int64_t fallback) {
  const auto given = config.find(key);
  if (!given || !given->is_array()) {
    const int64_t side = config.size(key, fallback, kMostPixels);
    return {side, side};
  }
  const std::vector<int64_t> sides = given->as_ints();
  for (const int64_t side : sides) {
    if (sides.size() == 2 && side >= 1 && side <= kMostPixels) continue;
    config.invalid(key, fmt::format("{} numbers from {} on; a height and a width from 1 to {} are "
                                    "possible",
                                    sides.size(), side, kMostPixels));
  }
  if (sides.empty()) config.invalid(key, "an empty list");
  return {sides[0], sides[1]};
}

std::vector<int64_t> size_list(const Config& config, std::string_view key,
                               std::vector<int64_t> fallback, int64_t most) {
  const auto given = config.find(key);
  std::vector<int64_t> sizes = given ? given->as_ints() : std::move(fallback);
  for (const int64_t size : sizes) {
    if (size < 1 || size > most) {
      config.invalid(key, fmt::format("{} is not a number from 1 to {}", size, most));
    }
  }
  return sizes;
}

std::optional<VisionLabels> read_labels(const Config& config, std::string_view model_class,
                                        std::string_view classifier) {
  const auto classes = config.find("architectures");
  if (!classes || classes->size() == 0) return std::nullopt;
  const std::string name(classes->at(size_t{0}).as_string());
  if (name == model_class) return std::nullopt;
  if (name != classifier) {
    config.unsupported("architectures", fmt::format("'{}' is not supported (supported: {}, {})",
                                                    name, model_class, classifier));
  }
  constexpr int64_t kMostLabels = 1 << 20;
  const auto given = config.find("id2label");
  const int64_t listed = given ? static_cast<int64_t>(given->size()) : 0;
  const int64_t count = listed > 0 ? listed : config.size("num_labels", 2, kMostLabels);
  VisionLabels labels;
  labels.names.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const auto label = listed > 0 ? given->find_string(std::to_string(i)) : std::nullopt;
    labels.names.push_back(label ? std::string(*label) : fmt::format("LABEL_{}", i));
  }
  labels.independent =
      count == 1 || config.text("problem_type", "") == "multi_label_classification";
  config.ignore({"num_labels", "label2id"});
  return labels;
}

namespace {

nn::LayerOptions vision_layer(const Config& vision, const nn::VisionTransformerOptions& tower,
                              const TowerDefaults& defaults) {
  nn::LayerOptions layer;
  layer.features = tower.features();
  layer.norm = tower.norm;
  layer.attention_norm = "layer_norm1";
  layer.mlp_norm = "layer_norm2";
  nn::AttentionOptions& attention = layer.attention();
  attention.features = tower.features();
  attention.num_heads = vision.size("num_attention_heads", defaults.num_heads, kMaxHeads);
  vision.require_multiple("hidden_size", tower.features(), "num_attention_heads",
                          attention.num_heads);
  attention.num_kv_heads = attention.num_heads;
  attention.head_dim = tower.features() / attention.num_heads;
  attention.qkv_bias = attention.output_bias = true;
  attention.output = "out_proj";
  nn::MLPOptions& mlp = layer.mlp();
  mlp.features = tower.features();
  mlp.hidden_features = vision.size("intermediate_size", defaults.intermediate_size);
  mlp.activation = vision.activation("hidden_act", defaults.activation);
  mlp.gated = false;
  mlp.bias = true;
  mlp.up = "fc1";
  mlp.down = "fc2";
  return layer;
}

}  // namespace

Tower siglip_like(const Config& vision, const TowerDefaults& defaults) {
  Tower result;
  nn::VisionTransformerOptions& tower = result.net;
  nn::PatchEmbeddingOptions& patches = tower.patches;
  patches.path = "embeddings.patch_embedding";
  patches.features = vision.size("hidden_size", defaults.hidden_size);
  patches.channels = vision.size("num_channels", 3, 16);
  const nn::Grid patch = size_pair(vision, "patch_size", defaults.patch_size);
  const nn::Grid image = size_pair(vision, "image_size", defaults.image_size);
  patches.height = patch.height;
  patches.width = patch.width;
  // A remainder of pixels belongs to no patch.
  tower.grid = {image.height / patch.height, image.width / patch.width};
  if (tower.grid.count() == 0) {
    vision.invalid("image_size", fmt::format("{}x{} is smaller than a patch of {}x{}", image.height,
                                             image.width, patch.height, patch.width));
  }
  result.image = image;
  tower.positions = "embeddings.position_embedding.weight";
  tower.norm = {.kind = nn::NormOptions::Kind::Layer,
                .epsilon = vision.number(defaults.epsilon_key, defaults.epsilon),
                .bias = true};
  tower.final_norm = "post_layernorm";
  tower.layers_path = "encoder.layers";
  const int64_t count = vision.size("num_hidden_layers", defaults.num_layers, kMaxLayers);
  tower.layers.assign(static_cast<size_t>(count), vision_layer(vision, tower, defaults));
  return result;
}

Tower clip_like(const Config& vision) {
  Tower tower =
      siglip_like(vision, {.patch_size = 32, .activation = "quick_gelu", .epsilon = 1e-5});
  tower.net.patches.bias = false;
  tower.net.class_token = "embeddings.class_embedding";
  tower.net.class_dims = {tower.net.features()};
  tower.net.first_norm = "pre_layrnorm";  // as the checkpoints spell it
  return tower;
}

Tower tower_of(const Config& config) {
  const Config vision = vision_part(config);
  const std::string type = vision.text("model_type", "clip_vision_model");
  if (type != "clip_vision_model" && type != "siglip_vision_model") {
    vision.unsupported("model_type",
                       fmt::format("'{}' is not supported (supported: clip_vision_model, "
                                   "siglip_vision_model)",
                                   type));
  }
  Tower tower = type == "clip_vision_model" ? clip_like(vision) : siglip_like(vision);
  vision.refuse_unread();
  return tower;
}

// As files were saved first, and by later versions of Hugging Face's library.
constexpr std::string_view kTowerBases[] = {"vision_tower.vision_model", "vision_tower",
                                            "model.vision_tower.vision_model",
                                            "model.vision_tower"};

void add_unused(std::string_view part, std::vector<std::string>& unused) {
  for (const std::string_view base : kTowerBases) {
    unused.push_back(fmt::format("{}.{}.", base, part));
  }
}

void keep_feature_layers(const Config& config, int64_t fallback, Tower& tower,
                         std::vector<std::string>& unused) {
  constexpr std::string_view kKey = "vision_feature_layer";
  const auto given = config.find(kKey);
  if (given && given->is_array()) {
    config.unsupported(kKey, "several layers are not supported (supported: one)");
  }
  std::vector<nn::LayerOptions>& layers = tower.net.layers;
  const int64_t count = std::ssize(layers), layer = given ? given->as_int() : fallback;
  const int64_t kept = layer < 0 ? layer + count + 1 : layer;
  if (kept < 0 || kept > count) {
    config.invalid(kKey, fmt::format("{} is not one of {} layers", layer, count));
  }
  for (int64_t i = kept; i < count; ++i) {
    add_unused(fmt::format("{}.{}", tower.net.layers_path, i), unused);
  }
  layers.resize(static_cast<size_t>(kept));
  if (!tower.net.final_norm.empty()) add_unused(tower.net.final_norm, unused);
  tower.net.final_norm.clear();
}

nn::Parameters part_with(const nn::Parameters& parameters, std::span<const std::string_view> bases,
                         std::string_view tensor) {
  for (const std::string_view base : bases) {
    nn::Parameters part = parameters.at(base);
    if (part.contains(tensor)) return part;
  }
  return parameters.at(bases.front());
}

nn::Parameters vision_tower_of(const nn::Parameters& parameters, std::string_view tensor) {
  return part_with(parameters, kTowerBases, tensor);
}

nn::Parameters projector_of(const nn::Parameters& parameters, std::string_view tensor) {
  constexpr std::string_view kBases[] = {"multi_modal_projector", "model.multi_modal_projector"};
  return part_with(parameters, kBases, tensor);
}

}  // namespace pippin::models::vision
