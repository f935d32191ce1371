// Llama (Touvron et al. 2023) and the models that are Llama under another name, Mistral among them:
// RMSNorm, rotary positions, grouped-query attention, SwiGLU.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/models/causal_lm.h"
#include "pippin/models/config.h"
#include "pippin/models/registry.h"
#include "pippin/nn/attention.h"
#include "pippin/nn/linear.h"
#include "pippin/nn/mlp.h"
#include "pippin/nn/norm.h"
#include "pippin/nn/rope.h"

namespace pippin::models {
namespace {

using array::Array;

// Defaults are those of Hugging Face's LlamaConfig, but for sizes, which have to be there.
struct LlamaConfig {
  int64_t vocab_size;
  int64_t hidden_size;
  int64_t intermediate_size;
  int64_t num_layers;
  int64_t num_heads;
  int64_t num_kv_heads;  // num_attention_heads
  int64_t head_dim;      // hidden_size / num_attention_heads
  double norm_epsilon;   // 1e-6
  double rope_theta;     // 10000
  nn::RopeScaling rope_scaling;
  bool attention_bias;  // false
  bool mlp_bias;        // false
  bool tied;            // tie_word_embeddings, false
  int64_t context;      // max_position_embeddings, 2048; the options' choice

  LlamaConfig(const Json& config, const BuildOptions& options);
};

LlamaConfig::LlamaConfig(const Json& config, const BuildOptions& options) {
  constexpr int64_t kMaxLayers = 10000, kMaxHeads = 1 << 16, kMaxHeadDim = 1 << 12,
                    kMaxContext = int64_t{1} << 24;
  vocab_size = positive(config, "vocab_size");
  hidden_size = positive(config, "hidden_size");
  intermediate_size = positive(config, "intermediate_size");
  num_layers = positive(config, "num_hidden_layers", kMaxLayers);
  num_heads = positive(config, "num_attention_heads", kMaxHeads);
  num_kv_heads = positive_or(config, "num_key_value_heads", num_heads, kMaxHeads);
  require_multiple(config, "num_attention_heads", num_heads, "num_key_value_heads", num_kv_heads);
  if (!config.has("head_dim")) {
    require_multiple(config, "hidden_size", hidden_size, "num_attention_heads", num_heads);
  }
  head_dim = positive_or(config, "head_dim", hidden_size / num_heads, kMaxHeadDim);
  if (head_dim % 2 != 0) {
    fail(ErrorCode::InvalidFile, "config.json: head_dim: {} is odd: rotary positions turn pairs",
         head_dim);
  }
  norm_epsilon = positive_float_or(config, "rms_norm_eps", 1e-6);
  rope_theta = models::rope_theta(config, 10000.0);
  rope_scaling = models::rope_scaling(config);
  attention_bias = config.get_bool_or("attention_bias", false);
  mlp_bias = config.get_bool_or("mlp_bias", false);
  tied = config.get_bool_or("tie_word_embeddings", false);
  activation(config, "hidden_act", "silu", {"silu", "swish"});
  context = choose_context(config, options.context,
                           positive_or(config, "max_position_embeddings", 2048, kMaxContext));
  // Mistral 7B v0.1's window; later ones say null. Within the window it makes no difference.
  const bool mistral = config.get_string_or("model_type", "") == "mistral";
  const int64_t no_window = mistral && !config.contains("sliding_window") ? 4096 : kMaxContext;
  const int64_t window = positive_or(config, "sliding_window", no_window, kMaxContext);
  if (window < context) {
    fail(ErrorCode::Unsupported,
         "config.json: sliding_window: {} is shorter than the context of {}; convert with a "
         "context of at most {}",
         window, context, window);
  }
}

class DecoderLayer {
 public:
  DecoderLayer(const nn::Parameters& parameters, const LlamaConfig& config, int64_t index)
      : path_(parameters.path()),
        index_(index),
        input_norm_(parameters.at("input_layernorm"), config.hidden_size, config.norm_epsilon),
        attention_(parameters.at("self_attn"), {.features = config.hidden_size,
                                                .num_heads = config.num_heads,
                                                .num_kv_heads = config.num_kv_heads,
                                                .head_dim = config.head_dim,
                                                .qkv_bias = config.attention_bias,
                                                .output_bias = config.attention_bias}),
        post_norm_(parameters.at("post_attention_layernorm"), config.hidden_size,
                   config.norm_epsilon),
        mlp_(parameters.at("mlp"), config.hidden_size, config.intermediate_size,
             nn::Activation::Silu, config.mlp_bias) {}

  Array operator()(const Array& x, const nn::Rope& rope, const nn::Rotation& rotation,
                   nn::KVCache& cache, const nn::Pass& pass) const {
    const array::Scope scope(path_);
    const Array h = x + attention_(input_norm_(x), index_, rope, rotation, cache, pass);
    return h + mlp_(post_norm_(h));
  }

 private:
  std::string path_;
  int64_t index_;
  nn::RMSNorm input_norm_;
  nn::Attention attention_;
  nn::RMSNorm post_norm_;
  nn::GatedMLP mlp_;
};

}  // namespace

mil::Model build_llama(const BuildInput& input) {
  const LlamaConfig config(input.config, input.options);
  const nn::Parameters parameters(input.checkpoint, precision(input.options));
  const nn::Parameters root = parameters.at("model");

  const nn::Embedding embedding(root.at("embed_tokens"), config.vocab_size, config.hidden_size);
  std::vector<DecoderLayer> layers;
  for (int64_t i = 0; i < config.num_layers; ++i) {
    layers.emplace_back(root.at("layers").at(i), config, i);
  }
  const nn::RMSNorm norm(root.at("norm"), config.hidden_size, config.norm_epsilon);
  // A tied model has no head of its own; where its file holds one it is the embedding again.
  const nn::Linear head =
      config.tied ? embedding.as_linear("lm_head")
                  : nn::Linear(parameters.at("lm_head"), config.hidden_size, config.vocab_size);
  // Buffers of old checkpoints.
  std::vector<std::string_view> ignored = {"rotary_emb.inv_freq", "attn.masked_bias", "attn.bias"};
  if (config.tied) ignored.push_back("lm_head.weight");
  parameters.check_all_used(ignored);

  const nn::Rope rope(config.context, config.head_dim, config.rope_theta, config.rope_scaling,
                      parameters.type());
  const CausalLM shape{config.context, config.num_layers, config.num_kv_heads, config.head_dim};
  return record_causal_lm(shape, input,
                          [&](const Array& ids, nn::KVCache& cache, const nn::Pass& pass) {
                            const nn::Rotation rotation = rope.rows(pass.past, pass.end);
                            Array x = embedding(ids);
                            for (const DecoderLayer& layer : layers)
                              x = layer(x, rope, rotation, cache, pass);
                            return head(norm(x));
                          });
}

}  // namespace pippin::models
