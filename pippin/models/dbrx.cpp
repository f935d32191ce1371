// DBRX (Databricks 2024): LayerNorms without biases, q, k, v in one matrix and clamped, experts
// whose matrices are the rows of three tensors.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"

namespace pippin::models {

nn::DecoderOptions dbrx(const Config& given) {
  Config config = given;
  config.alias("hidden_size", "d_model");
  config.alias("num_attention_heads", "n_heads");
  config.alias("num_hidden_layers", "n_layers");
  config.alias("max_position_embeddings", "max_seq_len");
  // The two objects hold the values that count.
  config.ignore({"num_key_value_heads"});
  const Config attention(config.find("attn_config").value_or(Json::parse("{}", "attn_config")));
  const Config feed(config.find("ffn_config").value_or(Json::parse("{}", "ffn_config")));
  nn::DecoderOptions model = plain_decoder(config, {.vocab_size = 32000,
                                                    .hidden_size = 2048,
                                                    .num_layers = 24,
                                                    .num_heads = 16,
                                                    .context = 2048});
  model.ropes.push_back({.dims = model.layers.at(0).attention().head_dim,
                         .theta = attention.number("rope_theta", 10000.0)});
  if (config.find("rope_parameters")) {
    model.ropes[0] = rope_options(config, model.ropes[0].dims, {.theta = model.ropes[0].theta});
  }
  model.base = "transformer";
  model.embedding = "wte";
  model.layers_path = "blocks";
  model.final_norm = "norm_f";
  model.norm = {.kind = nn::NormOptions::Kind::Layer, .epsilon = 1e-5};
  nn::ExpertsOptions experts = experts_of(feed, model,
                                          {.count_key = "moe_num_experts",
                                           .count = 4,
                                           .top_k_key = "moe_top_k",
                                           .top_k = 1,
                                           .width_key = "ffn_hidden_size",
                                           .width = 3584});
  if (const auto function = feed.find("ffn_act_fn")) {
    experts.activation = Config(*function).activation("name", "silu");
  }
  experts.router.path = "router.layer";
  const bool own = !feed.contains("moe_normalize_expert_weights");
  experts.router.p_norm = own ? 1.0 : feed.find_number("moe_normalize_expert_weights");
  experts.path = "experts.mlp";
  experts.weights.layout = nn::ExpertWeightsOptions::Layout::Rows;
  experts.weights.gate = "w1";
  experts.weights.up = "v1";
  experts.weights.down = "w2";
  const auto clip = attention.find_number("clip_qkv");
  const int64_t kv_heads = attention.size("kv_n_heads", 1, kMaxHeads);
  for (nn::LayerOptions& layer : model.layers) {
    layer.norm = model.norm;
    layer.attention_norm = "norm_attn_norm.norm_1";
    layer.mlp_norm = "norm_attn_norm.norm_2";
    layer.attention_path = "norm_attn_norm.attn";
    layer.mlp_path = "ffn";
    layer.feed_forward = experts;
    nn::AttentionOptions& own_attention = layer.attention();
    own_attention.num_kv_heads = kv_heads;
    own_attention.layout = nn::QkvLayout::Blocks;
    own_attention.qkv = "Wqkv";
    own_attention.output = "out_proj";
    own_attention.clip = clip;
    own_attention.rope = 0;
    own_attention.rope_dims = own_attention.head_dim;
  }
  config.require_multiple("n_heads", model.layers.at(0).attention().num_heads, "kv_n_heads",
                          kv_heads);
  return model;
}

}  // namespace pippin::models
