#include "pippin/models/config/latent_config.h"

#include <cmath>

#include "pippin/models/config/rope_settings.h"

namespace pippin::models {

nn::DecoderOptions latent_like(const Config& config, const Defaults& defaults,
                               const LatentDefaults& latent) {
  Defaults own = defaults;
  own.head_dim = latent.rope_dims;  // heads have sizes of their own, whatever these two are
  nn::DecoderOptions model = plain_decoder(config, own);
  const nn::AttentionOptions plain = model.layers.at(0).attention();
  nn::LatentAttentionOptions attention;
  attention.features = model.hidden_size;
  attention.num_heads = plain.num_heads;
  // null, unlike an absent key, means that queries come from the input.
  const auto rank = config.find_size("q_lora_rank");
  attention.query_rank = rank.value_or(config.contains("q_lora_rank") ? 0 : latent.query_rank);
  attention.latent = config.size("kv_lora_rank", latent.latent);
  attention.plain_dims = config.size("qk_nope_head_dim", latent.plain_dims, kMaxHeadDim);
  attention.rope_dims = config.size("qk_rope_head_dim", latent.rope_dims, kMaxHeadDim);
  attention.value_dims = config.size("v_head_dim", latent.value_dims, kMaxHeadDim);
  attention.bias = config.flag("attention_bias", false);
  attention.norm.epsilon = 1e-6;  // whatever rms_norm_eps is
  for (nn::LayerOptions& layer : model.layers) layer.attention().head_dim = attention.rope_dims;
  const auto turned = static_cast<double>(attention.rope_dims);
  add_rope(config, model,
           {.theta = own.rope_theta,
            .also_whole = turned / (turned + static_cast<double>(attention.plain_dims)),
            .keys = own.rope_keys});
  attention.rope = 0;
  for (nn::LayerOptions& layer : model.layers) layer.mixer = attention;
  return model;
}

void scale_by_yarn(const Config& config, nn::DecoderOptions& model) {
  const nn::RopeScaling& scaling = model.ropes.at(0).scaling;
  if (scaling.kind == nn::RopeScaling::Kind::Default) return;
  const RopeSettings settings(config);
  const auto all_dims = settings.object().find("mscale_all_dim");
  if (!all_dims || all_dims->as_float() == 0 || scaling.factor <= 1) return;
  const double magnitude = 0.1 * all_dims->as_float() * std::log(scaling.factor) + 1.0;
  for (nn::LayerOptions& layer : model.layers) {
    auto& attention = std::get<nn::LatentAttentionOptions>(layer.mixer);
    const auto size = static_cast<double>(attention.plain_dims + attention.rope_dims);
    attention.scale = attention.scale.value_or(1 / std::sqrt(size)) * magnitude * magnitude;
  }
}

}  // namespace pippin::models
