// Qwen3-VL and Qwen3-Omni, with the features of earlier layers for the first layers of the language
// model (deepstack), and Qwen3.5, without them (Hugging Face).
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/array/ops.h"
#include "pippin/models/config/common.h"
#include "pippin/models/vision/qwen_tower.h"
#include "pippin/models/vision/tower_description.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/vision/projector.h"

namespace pippin::models::vision {
namespace {

// Of the parts of mergers, and of the list of those of earlier layers.
struct MergerNames {
  std::string norm = "norm", first = "linear_fc1", second = "linear_fc2";
  std::string earlier = "deepstack_merger_list";
};

struct Qwen3Tower : QwenTower {
  std::vector<int64_t> deepstack;  // layers
  MergerNames names;

  // The prompt of a video has each patch of frames after its time.
  image::VisionPasses passes(const image::ImageInputs& inputs) const {
    return QwenTower::passes(inputs, /*split=*/true);
  }
  array::Array record(const nn::Parameters& parameters, const array::Array& pixels,
                      const image::VisionShape& shape) const;

 private:
  // Two matrices, of the features of joined patches, which `norm` normalizes if it has a name.
  array::Array merge(const nn::Parameters& merger, const array::Array& states,
                     const nn::NamedNorm& norm) const;
};

array::Array Qwen3Tower::merge(const nn::Parameters& merger, const array::Array& states,
                               const nn::NamedNorm& norm) const {
  const int64_t features = tower.features * joined();
  return nn::Projector(merger, {.features = features,
                                .hidden_features = features,
                                .output_features = outputs,
                                .norm = norm,
                                .first = names.first,
                                .second = names.second})(frame_rows(states, joined()));
}

array::Array Qwen3Tower::record(const nn::Parameters& parameters, const array::Array& pixels,
                                const image::VisionShape& shape) const {
  const nn::Parameters at = QwenTower::at(parameters);
  const PatchGrid grid = grid_of(shape);
  std::vector<std::optional<array::Array>> earlier(deepstack.size());
  const auto observe = [&](size_t layer, const array::Array& states) {
    for (size_t i = 0; i < deepstack.size(); ++i) {
      if (deepstack[i] != static_cast<int64_t>(layer)) continue;
      const nn::Parameters merger = at.at(names.earlier).at(static_cast<int64_t>(i));
      earlier[i] = merge(merger, states, {names.norm, tower.norm});
    }
  };
  const array::Array states =
      nn::PatchTransformer(at, tower)(embedded(at, pixels, grid), grid.grid, observe);
  const nn::Parameters merger = at.at("merger");
  const array::Array normed = nn::Norm(merger.at(names.norm), tower.features, tower.norm)(states);
  std::vector<array::Array> rows = {merge(merger, normed, {})};
  for (const auto& one : earlier) rows.push_back(one.value());
  return rows.size() > 1 ? array::concat(rows, 2) : rows.front();
}

std::vector<int64_t> read_deepstack(const Config& vision, size_t num_layers) {
  constexpr std::string_view kKey = "deepstack_visual_indexes";
  const auto given = vision.find(kKey);
  std::vector<int64_t> layers = given ? given->as_ints() : std::vector<int64_t>{8, 16, 24};
  for (const int64_t layer : layers) {
    if (layer >= 0 && layer < static_cast<int64_t>(num_layers)) continue;
    vision.invalid(kKey, fmt::format("{} is not one of {} layers", layer, num_layers));
  }
  return layers;
}

VisionDescription describe(const Config& config, bool with_deepstack,
                           const MergerNames& names = {}) {
  const Config vision = vision_part(config);
  Qwen3Tower model;
  model.names = names;
  static_cast<QwenTower&>(model) =
      qwen_tower(vision, {}, {.kind = nn::NormOptions::Kind::Layer, .bias = true});
  model.outputs = vision.size("out_hidden_size", 3584);
  const int64_t hidden = vision.size("intermediate_size", 4304);
  for (nn::LayerOptions& layer : model.tower.layers) {
    nn::MLPOptions& mlp = layer.mlp();
    mlp.hidden_features = hidden;
    mlp.gated = false;
    mlp.bias = true;
    mlp.up = "linear_fc1";
    mlp.down = "linear_fc2";
  }
  const int64_t positions = vision.size("num_position_embeddings", 2304);
  const auto side = static_cast<int64_t>(std::sqrt(static_cast<double>(positions)));
  if (side * side != positions) {
    vision.invalid("num_position_embeddings", fmt::format("{} is not a square", positions));
  }
  model.tower.positions = "pos_embed.weight";
  model.tower.grid = {side, side};
  model.tower.resizing = {.kind = nn::GridResizing::Kind::Bilinear, .align_corners = true};
  if (with_deepstack) {
    model.deepstack = read_deepstack(vision, model.tower.layers.size());
  } else if (const auto given = vision.find("deepstack_visual_indexes");
             given && !given->as_ints().empty()) {
    vision.unsupported("deepstack_visual_indexes", "not supported for this architecture");
  }
  vision.refuse_unread();
  return description_of(std::move(model));
}

}  // namespace

VisionDescription qwen3_vl(const Config& config) {
  return describe(config, /*with_deepstack=*/true);
}

VisionDescription qwen3_5_vision(const Config& config) {
  return describe(config, /*with_deepstack=*/false);
}

VisionDescription qwen3_omni(const Config& config) {
  // The thinker's configuration, as a part or alone.
  const auto thinker = config.find("thinker_config");
  VisionDescription description =
      describe(thinker ? Config(*thinker) : config, /*with_deepstack=*/true,
               {.norm = "ln_q", .first = "mlp.0", .second = "mlp.2", .earlier = "merger_list"});
  description.unused = {"thinker.model.", "thinker.lm_head.", "thinker.audio_tower.",
                        "audio_tower.",   "talker.",          "code2wav."};
  return description;
}

}  // namespace pippin::models::vision
