// MiniMax-Text-01 (MiniMax 2025): lightning attention and softmax attention by layer_types,
// Mixtral's experts, and residuals that carry the normalized values times factors.
#include <cmath>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/state_spaces.h"
#include "pippin/models/lineages.h"

namespace pippin::models {
namespace {

// ALiBi's slopes, smaller from layer to layer.
std::vector<double> decay_rates(int64_t heads, size_t layer, size_t num_layers) {
  const double share = static_cast<double>(layer) / (static_cast<double>(num_layers) - 1 + 1e-5);
  std::vector<double> rates;
  for (int64_t head = 0; head < heads; ++head) {
    const double slope =
        std::exp2(-8.0 * static_cast<double>(head + 1) / static_cast<double>(heads));
    rates.push_back(slope * (1 - share + 1e-5));
  }
  return rates;
}

}  // namespace

nn::DecoderOptions minimax(const Config& config) {
  nn::ExpertsOptions experts;
  nn::DecoderOptions model = mixtral_like(config, experts);
  const size_t count = model.layers.size();
  // By default, the first layer and every other one have full attention.
  std::vector<bool> full(count);
  for (size_t i = 0; i < count; ++i) full[i] = i % 2 == 0;
  if (config.find("layer_types")) {
    full = layer_kinds(config, "layer_types", count, "linear_attention", "full_attention");
  }
  const auto window = window_size(config, std::nullopt);
  nn::LightningAttentionOptions lightning;
  const nn::AttentionOptions& attention = model.layers.at(0).attention();
  lightning.features = model.hidden_size;
  lightning.heads = attention.num_heads;
  lightning.head_dim = attention.head_dim;
  lightning.activation = model.layers.at(0).mlp().activation;
  lightning.norm = model.norm;
  for (size_t i = 0; i < count; ++i) {
    nn::LayerOptions& layer = model.layers[i];
    layer.form = nn::LayerOptions::Form::NormCarried;
    layer.mlp_path = "block_sparse_moe";
    layer.feed_forward = experts;
    const std::string kind = full[i] ? "full_attn" : "linear_attn";
    layer.attention_carry = config.number(kind + "_alpha_factor", 1.0);
    layer.attention_scale = config.number(kind + "_beta_factor", 1.0);
    layer.mlp_carry = config.number("mlp_alpha_factor", 1.0);
    layer.mlp_scale = config.number("mlp_beta_factor", 1.0);
    if (full[i]) {
      layer.attention().window = window;
      continue;
    }
    lightning.rates = decay_rates(lightning.heads, i, count);
    layer.mixer = lightning;
  }
  return model;
}

}  // namespace pippin::models
