// Gemma 3 (text): Gemma 2 without soft caps, with (1 + w) norms on each head of q and k, five
// sliding layers to each full one, and a separate rope for the sliding ones.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/rope_settings.h"
#include "pippin/models/encoders.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

namespace {

nn::DecoderOptions gemma3_layers(const Config& config) {
  nn::DecoderOptions model = gemma2_like(config, 262208, 131072, 1e6, kFullLayers);
  const auto attention_cap = config.find_number("attn_logit_softcapping");
  model.logit_softcap = config.find_number("final_logit_softcapping");
  // Older files call the pattern sliding_window_pattern, newer ones _sliding_window_pattern.
  const int64_t pattern =
      config.size("sliding_window_pattern", config.size("_sliding_window_pattern", 6));
  const size_t count = model.layers.size();
  const auto sliding = sliding_layers(config, count).value_or(sliding_pattern(count, pattern));
  slide(model, sliding, window_size(config, 4096));
  const int64_t head_dim = model.layers[0].attention().head_dim;
  model.ropes.push_back(
      sliding_rope(config, head_dim, config.number("rope_local_base_freq", 10000.0)));
  for (size_t i = 0; i < count; ++i) {
    nn::LayerOptions& layer = model.layers[i];
    layer.attention().softcap = attention_cap;
    layer.attention().qk_norm = {.place = nn::QkNorm::Place::BeforeRope, .norm = layer.norm};
    if (sliding[i]) layer.attention().rope = 1;
  }
  return model;
}

}  // namespace

nn::DecoderOptions gemma3(const Config& config) {
  config.require_absent("use_bidirectional_attention");
  return gemma3_layers(config);
}

// EmbeddingGemma: without the causal mask; a sliding layer sees half of its window on either side.
EncoderDescription gemma3_encoder(const Config& config) {
  config.require_flag("use_bidirectional_attention", false, true);
  EncoderDescription model;
  model.encoder = nn::as_encoder(gemma3_layers(config));
  model.encoder.causal = false;
  for (nn::LayerOptions& layer : model.encoder.layers) {
    if (layer.attention().window) *layer.attention().window /= 2;
  }
  return model;
}

}  // namespace pippin::models
