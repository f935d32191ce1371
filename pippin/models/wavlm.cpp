// WavLM (Chen et al. 2022) with a CTC head: wav2vec 2.0's form, and biases of the scores by
// distance, which each token gates.
#include <fmt/format.h>

#include "pippin/models/config/common.h"
#include "pippin/models/speech/speech_description.h"

namespace pippin::models {

SpeechDescription wavlm(const Config& config) {
  config.require_absent("adapter_attn_dim");
  SpeechDescription model = wav2vec2_like(config, "wavlm");
  auto& layers = std::get<std::vector<nn::LayerOptions>>(model.encoder.layers);
  for (nn::LayerOptions& layer : layers) {
    nn::AttentionOptions& attention = layer.attention();
    attention.bias =
        nn::GatedMaskOptions{.num_heads = attention.num_heads, .head_dim = attention.head_dim};
  }
  nn::RelativeBiasOptions bias;
  bias.path = "attention.rel_attn_embed";
  bias.heads = layers.front().attention().num_heads;
  bias.buckets = config.size("num_buckets", 320, kMaxContext);
  bias.max_distance = config.size("max_bucket_distance", 800, kMaxContext);
  // Half of the buckets for either side, and half of those for one distance each.
  if (bias.buckets < 4 || bias.buckets % 4 != 0) {
    config.invalid("num_buckets", fmt::format("{} is not a multiple of 4", bias.buckets));
  }
  if (bias.max_distance <= bias.buckets / 4) {
    config.invalid("max_bucket_distance", fmt::format("{} is not above a quarter of num_buckets {}",
                                                      bias.max_distance, bias.buckets));
  }
  model.encoder.relative_bias = bias;
  return model;
}

}  // namespace pippin::models
