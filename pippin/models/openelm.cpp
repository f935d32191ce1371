// OpenELM (Apple 2024): layers that grow in heads and in the width of their feed-forward; q, k and
// v in one matrix, an RMSNorm on each head of q and k, gate and up in one matrix.
#include <algorithm>

#include <fmt/format.h>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

namespace {

// The multiple of `divisor` nearest to `value`, not below nine tenths of it.
int64_t make_divisible(double value, int64_t divisor) {
  const auto step = static_cast<double>(divisor);
  int64_t result = static_cast<int64_t>(value + step / 2) / divisor * divisor;
  result = std::max(result, divisor);
  return static_cast<double>(result) < 0.9 * value ? result + divisor : result;
}

std::vector<int64_t> heads_of_layers(const Config& config, std::string_view key, size_t count) {
  const auto list = config.find(key);
  if (!list) config.invalid(key, "missing");
  std::vector<int64_t> heads = list->as_ints();
  if (heads.size() != count) {
    config.invalid(key, fmt::format("{} for {} layers", heads.size(), count));
  }
  for (const int64_t number : heads) {
    if (number < 1 || number > kMaxHeads) config.invalid(key, "not between 1 and 65536");
  }
  return heads;
}

}  // namespace

nn::DecoderOptions openelm(const Config& given) {
  Config config = given;
  config.alias("hidden_size", "model_dim");
  config.alias("num_hidden_layers", "num_transformer_layers");
  config.alias("max_position_embeddings", "max_context_length");
  config.alias("tie_word_embeddings", "share_input_output_layers");
  config.alias("rope_theta", "rope_freq_constant");
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 32000,
                                                 .hidden_size = 2048,
                                                 .num_layers = 12,
                                                 .num_heads = 1,  // by layer, below
                                                 .head_dim = 128,
                                                 .context = 2048,
                                                 .activation_key = "activation_fn_name",
                                                 .activation = "swish",
                                                 .tied = true});
  if (config.text("normalization_layer_name", "rms_norm") != "rms_norm") {
    config.unsupported("normalization_layer_name", "only rms_norm is supported");
  }
  model.base = "transformer";
  model.embedding = "token_embeddings";
  const size_t count = model.layers.size();
  const auto heads = heads_of_layers(config, "num_query_heads", count);
  const auto kv_heads = heads_of_layers(config, "num_kv_heads", count);
  const auto multipliers = config.numbers("ffn_multipliers", static_cast<int64_t>(count), 4.0);
  const int64_t divisor = config.size("ffn_dim_divisor", 256);
  const bool gated = config.flag("ffn_with_glu", true);
  const bool qk_norm = config.flag("normalize_qk_projections", false);
  for (size_t i = 0; i < count; ++i) {
    nn::LayerOptions& layer = model.layers[i];
    config.require_multiple("num_query_heads", heads[i], "num_kv_heads", kv_heads[i]);
    layer.attention_norm = "attn_norm";
    layer.mlp_norm = "ffn_norm";
    layer.attention_path = "attn";
    layer.mlp_path = "ffn";
    nn::AttentionOptions& attention = layer.attention();
    attention.num_heads = heads[i];
    attention.num_kv_heads = kv_heads[i];
    attention.layout = nn::QkvLayout::Blocks;
    attention.output = "out_proj";
    if (qk_norm) {
      attention.qk_norm = {.place = nn::QkNorm::Place::BeforeRope, .norm = layer.norm};
    }
    const double width = multipliers[i] * static_cast<double>(model.hidden_size);
    if (width > static_cast<double>(kMaxSize)) config.invalid("ffn_multipliers", "too large");
    layer.mlp().hidden_features = make_divisible(width, divisor);
    layer.mlp().gated = layer.mlp().fused = gated;
    layer.mlp().gate = layer.mlp().up = "proj_1";
    layer.mlp().down = "proj_2";
  }
  return model;
}

}  // namespace pippin::models
