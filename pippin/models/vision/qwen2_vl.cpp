// Qwen2-VL and Qwen2.5-VL (Hugging Face). Most layers of the latter see windows of the image.
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/models/config/common.h"
#include "pippin/models/vision/qwen_tower.h"
#include "pippin/models/vision/tower_description.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/vision/projector.h"

namespace pippin::models::vision {
namespace {

struct Qwen2Tower : QwenTower {
  int64_t positions_per_second = 0;  // of videos; 0: one per patch of frames

  image::VisionPasses passes(const image::ImageInputs& inputs) const;
  array::Array record(const nn::Parameters& parameters, const array::Array& pixels,
                      const image::VisionShape& shape) const;
};

image::VisionPasses Qwen2Tower::passes(const image::ImageInputs& inputs) const {
  image::VisionPasses result = QwenTower::passes(inputs);
  if (positions_per_second > 0 && inputs.is_video()) {
    // Whole seconds, as transformers counts them.
    constexpr double kRounding = 1e-6;
    const auto seconds = static_cast<int64_t>(std::min(inputs.seconds_per_patch + kRounding, 1e6));
    for (image::VisionRun& run : result.runs) run.frame_step = seconds * positions_per_second;
  }
  return result;
}

array::Array Qwen2Tower::record(const nn::Parameters& parameters, const array::Array& pixels,
                                const image::VisionShape& shape) const {
  const nn::Parameters part = at(parameters);
  const PatchGrid grid = grid_of(shape);
  const array::Array states =
      nn::PatchTransformer(part, tower)(embedded(part, pixels, grid), grid.grid);
  const nn::Parameters merger = part.at("merger");
  const array::Array normed = nn::Norm(merger.at("ln_q"), tower.features, tower.norm)(states);
  const int64_t features = tower.features * joined();
  return nn::Projector(merger, {.features = features,
                                .hidden_features = features,
                                .output_features = outputs,
                                .norm = {},
                                .first = "mlp.0",
                                .second = "mlp.2"})(frame_rows(normed, joined()));
}

void read_windows(const Config& vision, nn::PatchTransformerOptions& tower, int64_t patch_size) {
  const int64_t pixels = vision.size("window_size", 112, kMostPixels);
  tower.window = pixels / tower.block / patch_size;
  if (tower.window == 0) {
    vision.invalid("window_size", fmt::format("{} pixels are less than {} patches of {}", pixels,
                                              tower.block, patch_size));
  }
  const auto given = vision.find("fullatt_block_indexes");
  const std::vector<int64_t> whole = given ? given->as_ints() : std::vector<int64_t>{7, 15, 23, 31};
  for (size_t i = 0; i < tower.layers.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    tower.sees_all.push_back(std::find(whole.begin(), whole.end(), index) != whole.end());
  }
}

}  // namespace

VisionDescription qwen2_vl(const Config& config) {
  Config vision = vision_part(config);
  vision.alias("in_channels", "in_chans");
  Qwen2Tower model{qwen_tower(vision,
                              {.width_key = "embed_dim",
                               .hidden_size = 1280,
                               .num_layers = 32,
                               .patch_size = 14,
                               .activation = "quick_gelu"},
                              {.kind = nn::NormOptions::Kind::Layer, .bias = true})};
  model.patches.bias = false;
  model.outputs = vision.size("hidden_size", 3584);
  const double ratio = vision.number("mlp_ratio", 4);
  const double hidden = ratio * static_cast<double>(model.tower.features);
  if (!(hidden >= 1 && hidden <= static_cast<double>(kMaxSize))) {
    vision.invalid("mlp_ratio", fmt::format("{} times {} features", ratio, model.tower.features));
  }
  for (nn::LayerOptions& layer : model.tower.layers) {
    nn::MLPOptions& mlp = layer.mlp();
    mlp.hidden_features = static_cast<int64_t>(hidden);
    mlp.gated = false;
    mlp.bias = true;
    mlp.up = "fc1";
    mlp.down = "fc2";
  }
  vision.refuse_unread();
  return description_of(std::move(model));
}

VisionDescription qwen2_5_vl(const Config& config) {
  Config vision = vision_part(config);
  vision.alias("in_channels", "in_chans");
  Qwen2Tower model{qwen_tower(
      vision, {.hidden_size = 3584, .num_layers = 32, .patch_size = 14, .activation = "silu"},
      {.kind = nn::NormOptions::Kind::RMS})};
  model.patches.bias = false;
  model.outputs = vision.size("out_hidden_size", 3584);
  model.positions_per_second = vision.size("tokens_per_second", 4);
  const int64_t hidden = vision.size("intermediate_size", 3420);
  for (nn::LayerOptions& layer : model.tower.layers) {
    layer.mlp().hidden_features = hidden;
    layer.mlp().bias = true;
  }
  read_windows(vision, model.tower, model.patches.height);
  vision.refuse_unread();
  return description_of(std::move(model));
}

}  // namespace pippin::models::vision
