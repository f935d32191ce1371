// nanochat (Karpathy 2025): norms without weights, also of the embedding and of rotated queries and
// keys, rotated in the opposite direction; squared ReLU, a cap on the logits.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions nanochat(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 50304,
                                                 .hidden_size = 768,
                                                 .intermediate_size = 8192,
                                                 .num_layers = 12,
                                                 .num_heads = 6,
                                                 .context = 2048,
                                                 .activation = "relu2"});
  model.norm.weight = false;
  model.embedding_norm = "embed_norm";
  const auto cap = config.find_number("final_logit_softcapping");
  const bool own = !config.contains("final_logit_softcapping");
  model.logit_softcap = own ? std::optional(15.0) : cap;
  for (nn::RopeOptions& rope : model.ropes) rope.reversed = true;
  const bool bias = config.flag("attention_bias", false);
  for (nn::LayerOptions& layer : model.layers) {
    layer.norm = model.norm;
    layer.attention().qkv_bias = layer.attention().output_bias = bias;
    layer.attention().qk_norm = {.place = nn::QkNorm::Place::AfterRope, .norm = model.norm};
    layer.mlp().gated = false;
    layer.mlp().up = "fc1";
    layer.mlp().down = "fc2";
  }
  return model;
}

}  // namespace pippin::models
