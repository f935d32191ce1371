// LongCat-Flash (Meituan 2025): layers of two latent attentions and two feed-forwards; experts in
// parallel to the first, added at the layer's end; some experts return their input.
#include <cmath>
#include <string>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"
#include "pippin/models/config/latent_config.h"

namespace pippin::models {

nn::DecoderOptions longcat_flash(const Config& given) {
  Config config = given;
  config.alias("intermediate_size", "ffn_hidden_size");
  const int64_t count = config.size("num_layers", 28, kMaxLayers);
  nn::DecoderOptions model = latent_like(
      config,
      {.vocab_size = 131072,
       .hidden_size = 6144,
       .intermediate_size = 12288,
       .num_layers = 2 * count,
       .num_heads = 64,
       .context = 131072,
       .epsilon = 1e-5,
       .rope_theta = 1e7},
      {.query_rank = 1536, .latent = 512, .plain_dims = 128, .rope_dims = 64, .value_dims = 128});
  if (static_cast<int64_t>(model.layers.size()) != 2 * count) {
    config.invalid("num_hidden_layers", "not twice num_layers");
  }
  scale_by_yarn(config, model);
  nn::ExpertsOptions experts = experts_of(config, model,
                                          {.count_key = "n_routed_experts",
                                           .count = 512,
                                           .top_k_key = "moe_topk",
                                           .top_k = 12,
                                           .width_key = "expert_ffn_hidden_size",
                                           .width = 2048});
  if (config.text("zero_expert_type", "identity") != "identity") {
    config.unsupported("zero_expert_type", "only identity is supported");
  }
  const auto zero = config.find("zero_expert_num");
  experts.identity_experts = zero ? zero->as_int() : 256;
  if (experts.identity_experts < 0 || experts.identity_experts > kMaxExperts) {
    config.invalid("zero_expert_num", "out of range");
  }
  experts.router.num_experts += experts.identity_experts;
  experts.router.path = "router.classifier";
  experts.router.bias = config.flag("router_bias", false);
  experts.router.correction = "router.e_score_correction_bias";
  experts.router.normalized = config.flag("norm_topk_prob", false);
  experts.router.added_to_sum = 1e-20;
  experts.router.scale = config.number("routed_scaling_factor", 6.0);
  for (size_t i = 0; i < model.layers.size(); ++i) {
    nn::LayerOptions& layer = model.layers[i];
    auto& attention = std::get<nn::LatentAttentionOptions>(layer.mixer);
    const auto width = static_cast<double>(model.hidden_size);
    if (attention.query_rank > 0) {
      const auto size = static_cast<double>(attention.plain_dims + attention.rope_dims);
      attention.scale = attention.scale.value_or(1 / std::sqrt(size)) *
                        std::sqrt(width / static_cast<double>(attention.query_rank));
    }
    attention.latent_scale = std::sqrt(width / static_cast<double>(attention.latent));
    const std::string half = i % 2 == 0 ? ".0" : ".1";
    layer.path = std::to_string(i / 2);
    layer.attention_norm += half;
    layer.mlp_norm += half;
    layer.attention_path += half;
    layer.mlp_path = "mlps" + half;
    if (i % 2 == 0) {
      layer.shortcut = experts;
      layer.shortcut_path = "mlp";
    }
    layer.takes_shortcut = i % 2 == 1;
  }
  return model;
}

}  // namespace pippin::models
