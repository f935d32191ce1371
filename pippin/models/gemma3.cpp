// Gemma 3 (text): Gemma 2 without soft caps, with (1 + w) norms on each head of q and k, five
// sliding layers to each full one, and a rope of their own for the sliding ones.
#include <cmath>

#include "pippin/models/architectures.h"
#include "pippin/models/common.h"

namespace pippin::models {

nn::DecoderOptions gemma3(const Config& config) {
  config.ignore({"hidden_act"});
  nn::DecoderOptions model = gemma_like(config,
                                        {.vocab_size = 262208,
                                         .hidden_size = 2304,
                                         .intermediate_size = 9216,
                                         .num_layers = 26,
                                         .num_heads = 8,
                                         .num_kv_heads = 4,
                                         .head_dim = 256,
                                         .context = 131072,
                                         .rope_theta = 1e6},
                                        "hidden_activation");
  config.require_absent("use_bidirectional_attention");
  const double scale = 1 / std::sqrt(config.number("query_pre_attn_scalar", 256));
  const auto attention_cap = config.find_number("attn_logit_softcapping");
  model.logit_softcap = config.find_number("final_logit_softcapping");
  // Older files call the pattern sliding_window_pattern, newer ones _sliding_window_pattern.
  const int64_t pattern =
      config.size("sliding_window_pattern", config.size("_sliding_window_pattern", 6));
  const size_t count = model.layers.size();
  const auto sliding = sliding_layers(config, count).value_or(sliding_pattern(count, pattern));
  slide(model, sliding, window_size(config, 4096));
  const int64_t head_dim = model.layers[0].attention.head_dim;
  model.ropes.push_back(
      {.dims = head_dim, .theta = config.number("rope_local_base_freq", 10000.0)});
  for (size_t i = 0; i < count; ++i) {
    nn::LayerOptions& layer = model.layers[i];
    layer.attention_post_norm = "post_attention_layernorm";
    layer.mlp_norm = "pre_feedforward_layernorm";
    layer.mlp_post_norm = "post_feedforward_layernorm";
    layer.attention.scale = scale;
    layer.attention.softcap = attention_cap;
    layer.attention.qk_norm = {.place = nn::QkNorm::Place::BeforeRope, .norm = layer.norm};
    if (sliding[i]) layer.attention.rope = 1;
  }
  return model;
}

}  // namespace pippin::models
