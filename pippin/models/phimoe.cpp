// Phi-3.5-MoE (Microsoft 2024): Mixtral's experts chosen by sparsemixer, LayerNorms with biases,
// longrope with separate magnitudes.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"
#include "pippin/models/config/rope_settings.h"

namespace pippin::models {

nn::DecoderOptions phimoe(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 32064,
                                                 .hidden_size = 4096,
                                                 .intermediate_size = 6400,
                                                 .num_layers = 32,
                                                 .num_heads = 32,
                                                 .num_kv_heads = 8,
                                                 .context = 131072,
                                                 .epsilon = 1e-5,
                                                 .rope_theta = 1e6,
                                                 .rope_keys = {"short_mscale", "long_mscale"}});
  nn::RopeScaling& scaling = model.ropes.at(0).scaling;
  if (scaling.kind == nn::RopeScaling::Kind::LongRope) {
    const RopeSettings settings(config);
    const Config& rope = settings.object();
    scaling.attention_factor = rope.number("short_mscale", 1.0);
    scaling.long_attention_factor = rope.number("long_mscale", 1.0);
  }
  model.head_bias = config.flag("lm_head_bias", false);
  model.norm.kind = nn::NormOptions::Kind::Layer;
  model.norm.bias = true;
  nn::ExpertsOptions experts = experts_of(config, model,
                                          {.count_key = "num_local_experts",
                                           .count = 16,
                                           .top_k = 2,
                                           .width_key = "intermediate_size",
                                           .width = 6400});
  if (experts.router.top_k != 2) {
    config.unsupported("num_experts_per_tok", "sparsemixer chooses 2");
  }
  experts.router.scores = nn::RouterOptions::Scores::SparseMixer;
  experts.router.jitter = config.number("router_jitter_noise", 0.01);
  experts.weights.gate = "w1";
  experts.weights.up = "w3";
  experts.weights.down = "w2";
  const bool bias = config.flag("attention_bias", false);
  for (nn::LayerOptions& layer : model.layers) {
    layer.norm = model.norm;
    layer.attention().qkv_bias = layer.attention().output_bias = bias;
    layer.mlp_path = "block_sparse_moe";
    layer.feed_forward = experts;
  }
  slide(model, std::vector<bool>(model.layers.size(), true), window_size(config, std::nullopt));
  return model;
}

}  // namespace pippin::models
