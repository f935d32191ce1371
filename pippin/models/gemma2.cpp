// Gemma 2: Gemma with norms before and after attention and feed-forward, soft caps on scores and
// logits, a window in every other layer (the first one slides).
#include <cmath>
#include <optional>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

nn::DecoderOptions gemma2_like(const Config& config, int64_t vocab_size, int64_t context,
                               double rope_theta, std::string_view rope_kind) {
  config.ignore({"hidden_act"});
  nn::DecoderOptions model = gemma_like(config,
                                        {.vocab_size = vocab_size,
                                         .hidden_size = 2304,
                                         .intermediate_size = 9216,
                                         .num_layers = 26,
                                         .num_heads = 8,
                                         .num_kv_heads = 4,
                                         .head_dim = 256,
                                         .context = context,
                                         .rope_theta = rope_theta,
                                         .rope_kind = rope_kind},
                                        "hidden_activation");
  const double scale = 1 / std::sqrt(config.number("query_pre_attn_scalar", 256));
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention_post_norm = "post_attention_layernorm";
    layer.mlp_norm = "pre_feedforward_layernorm";
    layer.mlp_post_norm = "post_feedforward_layernorm";
    layer.attention().scale = scale;
  }
  return model;
}

nn::DecoderOptions gemma2(const Config& config) {
  nn::DecoderOptions model = gemma2_like(config, 256000, 8192, 10000.0);
  // no cap if null; the class's default if absent.
  const auto cap = [&](std::string_view key, double fallback) {
    const auto value = config.find_number(key);
    return value || config.contains(key) ? value : std::optional(fallback);
  };
  const auto attention_cap = cap("attn_logit_softcapping", 50.0);
  model.logit_softcap = cap("final_logit_softcapping", 30.0);
  for (nn::LayerOptions& layer : model.layers) layer.attention().softcap = attention_cap;
  const size_t count = model.layers.size();
  slide(model, sliding_layers(config, count).value_or(sliding_pattern(count, 2)),
        window_size(config, 4096));
  return model;
}

}  // namespace pippin::models
