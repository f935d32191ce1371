// LFM2 (Liquid AI 2025): gated short convolutions, and grouped-query attention with an RMSNorm on
// each head of q and k in every few layers.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/state_spaces.h"
#include "pippin/models/lineages.h"

namespace pippin::models {
namespace {

// By layer, whether it has attention: layer_types, or in older files full_attn_idxs.
std::vector<bool> attention_layers(const Config& config, size_t count) {
  if (config.find("layer_types")) {
    return layer_kinds(config, "layer_types", count, "conv", "full_attention");
  }
  std::vector<bool> attention(count, !config.contains("full_attn_idxs"));
  if (const auto indices = config.find("full_attn_idxs")) {
    for (const int64_t index : indices->as_ints()) {
      if (index < 0 || index >= static_cast<int64_t>(count)) {
        config.invalid("full_attn_idxs", "not the number of a layer");
      }
      attention[static_cast<size_t>(index)] = true;
    }
  }
  return attention;
}

// The feed-forward's width after block_auto_adjust_ff_dim.
int64_t adjusted_width(const Config& config, int64_t width) {
  if (!config.flag("block_auto_adjust_ff_dim", true)) return width;
  const int64_t multiple = config.size("block_multiple_of", 256);
  const double factor = config.number("block_ffn_dim_multiplier", 1.0);
  const int64_t two_thirds = 2 * width / 3;
  const auto scaled = static_cast<int64_t>(factor * static_cast<double>(two_thirds));
  if (scaled < 1 || scaled > kMaxSize) config.invalid("block_ffn_dim_multiplier", "out of range");
  return (scaled + multiple - 1) / multiple * multiple;
}

}  // namespace

nn::DecoderOptions lfm2_like(const Config& config, const Defaults& defaults) {
  nn::DecoderOptions model = llama_like(config, defaults);
  model.final_norm = "embedding_norm";
  nn::ShortConvolutionOptions convolution;
  convolution.features = model.hidden_size;
  convolution.length = config.size("conv_L_cache", 3, kMaxHeads);
  convolution.bias = config.flag("conv_bias", false);
  const auto attention = attention_layers(config, model.layers.size());
  for (size_t i = 0; i < model.layers.size(); ++i) {
    nn::LayerOptions& layer = model.layers[i];
    layer.attention_norm = "operator_norm";
    layer.mlp_norm = "ffn_norm";
    layer.mlp_path = "feed_forward";
    nn::MLPOptions& mlp = layer.mlp();
    mlp.gate = "w1";
    mlp.up = "w3";
    mlp.down = "w2";
    if (!attention[i]) {
      layer.attention_path = "conv";
      layer.mixer = convolution;
      continue;
    }
    layer.attention().output = "out_proj";
    layer.attention().qk_norm = {.place = nn::QkNorm::Place::BeforeRope,
                                 .norm = layer.norm,
                                 .query = "q_layernorm",
                                 .key = "k_layernorm"};
  }
  return model;
}

nn::DecoderOptions lfm2(const Config& given) {
  Config config = given;
  config.alias("intermediate_size", "block_ff_dim");
  nn::DecoderOptions model = lfm2_like(config, {.vocab_size = 65536,
                                                .hidden_size = 2560,
                                                .intermediate_size = 12288,
                                                .num_layers = 32,
                                                .num_heads = 32,
                                                .num_kv_heads = 8,
                                                .context = 128000,
                                                .epsilon_key = "norm_eps",
                                                .epsilon = 1e-5,
                                                .rope_theta = 1e6,
                                                .tied = true});
  for (nn::LayerOptions& layer : model.layers) {
    nn::MLPOptions& mlp = layer.mlp();
    mlp.hidden_features = adjusted_width(config, mlp.hidden_features);
  }
  return model;
}

}  // namespace pippin::models
