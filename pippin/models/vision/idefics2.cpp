// Idefics 2 (Hugging Face 2024): SigLIP's tower over images of any size, a gated network to the
// width of the language model, and a perceiver resampler.
#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/models/config/common.h"
#include "pippin/models/vision/tiles.h"
#include "pippin/models/vision/tower_description.h"
#include "pippin/models/vision/vision_config.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/vision/perceiver_resampler.h"

namespace pippin::models::vision {
namespace {

struct Idefics2Tower {
  nn::VisionTransformerOptions tower;
  int64_t hidden = 0;  // of the gated network
  nn::Activation activation = nn::Activation::Silu;
  nn::PerceiverResamplerOptions resampler;

  image::VisionPasses passes(const image::ImageInputs& inputs) const;
  array::Array record(const nn::Parameters& parameters, const array::Array& pixels,
                      const image::VisionShape& shape) const;
};

// The size of each part of an image, whose padding is to the right and below.
std::vector<nn::Grid> part_sizes(const image::ImageInputs& inputs, const Tiles& parts) {
  const nn::Grid whole{parts.height, parts.width};
  std::vector<nn::Grid> sizes(static_cast<size_t>(parts.count), whole);
  const auto found = inputs.sizes.find("pixel_attention_mask");
  if (found == inputs.sizes.end()) return sizes;
  const std::vector<int64_t>& mask = found->second.values;
  const auto refuse = [&] {
    fail(ErrorCode::InvalidArgument,
         "pixel_attention_mask ({}): a mask of the {} parts of {}x{} pixels, which start at the "
         "upper left, is expected",
         fmt::join(found->second.shape, ", "), parts.count, parts.height, parts.width);
  };
  if (std::ssize(mask) != parts.count * whole.count()) refuse();
  for (int64_t part = 0; part < parts.count; ++part) {
    const auto begin = mask.begin() + part * whole.count(), end = begin + whole.count();
    nn::Grid& size = sizes[static_cast<size_t>(part)];
    size = {0, std::count(begin, begin + whole.width, 1)};
    for (int64_t y = 0; y < whole.height; ++y) size.height += begin[y * whole.width];
    for (auto place = begin; place != end; ++place) {
      const int64_t at = place - begin;
      const bool inside = at / whole.width < size.height && at % whole.width < size.width;
      if (*place != (inside ? 1 : 0)) refuse();
    }
  }
  return sizes;
}

// A pass takes a part with its padding, and VisionShape::sizes the patches that count.
image::VisionPasses Idefics2Tower::passes(const image::ImageInputs& inputs) const {
  const Tiles parts = tiles_of(inputs);
  const nn::PatchEmbeddingOptions& patches = tower.patches;
  if (parts.channels != patches.channels) {
    fail(ErrorCode::InvalidArgument, "images of {} channels, the model takes {}", parts.channels,
         patches.channels);
  }
  image::VisionPasses passes;
  passes.passes.reserve(static_cast<size_t>(parts.count));
  passes.runs.reserve(static_cast<size_t>(parts.count));
  int64_t part = 0;
  for (const nn::Grid& size : part_sizes(inputs, parts)) {
    const nn::Grid grid{size.height / patches.height, size.width / patches.width};
    if (grid.count() == 0) {
      fail(ErrorCode::InvalidArgument, "an image of {}x{} pixels is smaller than a patch of {}x{}",
           size.height, size.width, patches.height, patches.width);
    }
    passes.passes.push_back(
        {{{1, parts.channels, parts.height, parts.width}, {1, grid.height, grid.width}},
         part * parts.pixels()});
    passes.runs.push_back(run_of(part * resampler.num_latents, resampler.num_latents));
    ++part;
  }
  return passes;
}

array::Array Idefics2Tower::record(const nn::Parameters& parameters, const array::Array& pixels,
                                   const image::VisionShape& shape) const {
  constexpr std::string_view kTowers[] = {"model.vision_model", "vision_model"};
  constexpr std::string_view kConnectors[] = {"model.connector", "connector"};
  const nn::Parameters at = part_with(parameters, kTowers, "embeddings.patch_embedding.weight");
  const int64_t height = shape.sizes.at(1) * tower.patches.height;
  const int64_t width = shape.sizes.at(2) * tower.patches.width;
  array::Array part = pixels;
  if (pixels.dim(2).constant() > height) part = array::slice_axis(part, 2, 0, height);
  if (pixels.dim(3).constant() > width) part = array::slice_axis(part, 3, 0, width);
  const array::Array states = nn::VisionTransformer(at, tower)(part);
  const nn::Parameters connector =
      part_with(parameters, kConnectors, "perceiver_resampler.latents");
  const nn::Parameters gated = connector.at("modality_projection");
  const array::Array gate = nn::Linear(gated.at("gate_proj"), tower.features(), hidden)(states);
  const array::Array up = nn::Linear(gated.at("up_proj"), tower.features(), hidden)(states);
  const array::Array rows = nn::Linear(gated.at("down_proj"), hidden,
                                       resampler.features)(nn::apply(activation, gate) * up);
  return nn::perceiver_resampled(connector.at("perceiver_resampler"), resampler, rows);
}

nn::PerceiverResamplerOptions read_resampler(const Config& config, const Config& text) {
  constexpr std::string_view kKey = "perceiver_config";
  const auto part = config.find(kKey);
  const Config perceiver(part ? *part : Json::parse("{}", config.json().where(kKey)));
  nn::PerceiverResamplerOptions resampler;
  resampler.features = text.size("hidden_size", 4096);
  // A width that is not the language model's stands for a configuration without both.
  const bool own = perceiver.size("hidden_size", 4096) == resampler.features;
  const double text_epsilon = text.number("rms_norm_eps", 1e-6);
  resampler.norm.epsilon = own ? perceiver.number("rms_norm_eps", 1e-6) : text_epsilon;
  resampler.num_latents = perceiver.size("resampler_n_latents", 64, 1 << 16);
  resampler.num_layers = perceiver.size("resampler_depth", 3, kMaxLayers);
  resampler.num_heads = perceiver.size("resampler_n_heads", 16, kMaxHeads);
  resampler.num_kv_heads = perceiver.size("num_key_value_heads", 4, kMaxHeads);
  resampler.head_dim = perceiver.size("resampler_head_dim", 96);
  perceiver.require_multiple("resampler_n_heads", resampler.num_heads, "num_key_value_heads",
                             resampler.num_kv_heads);
  resampler.activation = perceiver.activation("hidden_act", "silu");
  perceiver.ignore({"rms_norm_eps"});
  perceiver.refuse_unread();
  return resampler;
}

}  // namespace

VisionDescription idefics2(const Config& config) {
  const Config vision = vision_part(config);
  Idefics2Tower model;
  model.tower = siglip_like(vision, {.patch_size = 32}).net;
  vision.refuse_unread();
  const auto found = config.find("text_config");
  const Config text(found ? *found : Json::parse("{}", config.json().where("text_config")));
  model.hidden = text.size("intermediate_size", 14336);
  model.activation = text.activation("hidden_act", "silu");
  model.resampler = read_resampler(config, text);
  return description_of(std::move(model));
}

}  // namespace pippin::models::vision
