// Nomic BERT (Nussbaum et al. 2024): BERT with rotary positions and SwiGLU, with GPT-2's names of
// sizes.
#include <cmath>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "pippin/models/config/common.h"
#include "pippin/models/config/rope_settings.h"
#include "pippin/models/encoders.h"

namespace pippin::models {
namespace {

// The class rounds n_inner of gated feed-forwards up to a multiple of 256.
int64_t gated_width(const Config& config, int64_t width) {
  constexpr int64_t kMultiple = 256;
  const int64_t inner = config.size("n_inner", 4 * width);
  return (inner + kMultiple - 1) / kMultiple * kMultiple;
}

// "gelu", or a gated "swiglu".
void set_activation(const Config& config, nn::MLPOptions& mlp) {
  const std::string kind = config.text("activation_function", "swiglu");
  constexpr std::string_view kGated = "glu";
  mlp.gated = kind.ends_with(kGated);
  if (!mlp.gated) {
    mlp.activation = config.activation_called(kind, "activation_function");
  } else if (kind == "swiglu" || kind == "geglu" || kind == "glu") {
    mlp.activation = kind == "swiglu"  ? nn::Activation::Silu
                     : kind == "geglu" ? nn::Activation::Gelu
                                       : nn::Activation::Sigmoid;
  } else {
    config.unsupported("activation_function",
                       fmt::format("'{}' is not supported (known: glu, geglu, swiglu, gelu, "
                                   "gelu_new, gelu_fast, gelu_pytorch_tanh, relu)",
                                   kind));
  }
}

// The feed-forward under its own configuration's names (Nomic Embed 1 and 2).
void add_feed_forward(const Config& config, int64_t width, nn::MLPOptions& mlp) {
  set_activation(config, mlp);
  mlp.hidden_features = mlp.gated ? gated_width(config, width) : config.size("n_inner", 4 * width);
  mlp.bias = config.flag("mlp_fc1_bias", true);
  mlp.down_bias = config.flag("mlp_fc2_bias", true);
  mlp.gate = "fc12";
  mlp.up = mlp.gated ? "fc11" : "fc1";
  mlp.down = "fc2";
}

// Experts (Nomic Embed 2) in every layer i with i % moe_every_n_layers = 1.
void add_experts(const Config& config, nn::EncoderOptions& encoder) {
  const int64_t count = config.json().get_int_or("num_experts", 0);
  const int64_t every = config.json().get_int_or("moe_every_n_layers", 0);
  config.ignore({"num_experts", "moe_every_n_layers"});
  if (count <= 0 || every <= 0) return;
  config.require_flag("expert_choice_router", false, false);
  config.require_flag("moe_normalize_expert_weights", false, false);
  config.require_absent("num_shared_experts");
  const nn::MLPOptions plain = encoder.layers.at(0).mlp();
  if (plain.gated) {
    config.unsupported("activation_function", "gated experts are not supported");
  }
  nn::ExpertsOptions experts;
  experts.router.features = encoder.hidden_size;
  experts.router.num_experts = count;
  experts.router.top_k = config.size("moe_top_k", 1, kMaxExperts);
  experts.router.path = "router.layer";
  if (count > kMaxExperts || experts.router.top_k > count) {
    config.invalid("moe_top_k", fmt::format("{} of {} experts", experts.router.top_k, count));
  }
  const int64_t divisor = config.size("ffn_div", 1);
  config.require_multiple("n_inner", plain.hidden_features, "ffn_div", divisor);
  experts.weights = {.layout = nn::ExpertWeightsOptions::Layout::Rows,
                     .num_experts = count,
                     .features = encoder.hidden_size,
                     .hidden_features = plain.hidden_features / divisor,
                     .up = "mlp.w1",
                     .down = "mlp.w2",
                     .gated = false};
  experts.activation = plain.activation;
  experts.result_bias = experts.path + ".bias";
  for (size_t i = 0; i < encoder.layers.size(); ++i) {
    if (static_cast<int64_t>(i) % every == 1) encoder.layers[i].feed_forward = experts;
  }
}

}  // namespace

EncoderDescription nomic_bert(const Config& given) {
  Config config = given;
  // The class of transformers 5 uses BERT's names of sizes, and has defaults of its own; its
  // feed-forward has the given width, and no projection has a bias.
  const bool plain = !config.contains("n_embd") && !config.contains("n_inner");
  config.alias("hidden_size", "n_embd");
  config.alias("num_attention_heads", "n_head");
  config.alias("num_hidden_layers", "n_layer");
  config.alias("max_position_embeddings", "n_positions");
  config.alias("layer_norm_eps", "layer_norm_epsilon");
  config.require_flag("prenorm", false, false);
  config.require_flag("parallel_block", false, false);
  config.require_flag("causal", false, false);
  config.require_flag("use_rms_norm", false, false);
  config.require_flag("rotary_emb_interleaved", false, false);
  config.require_absent("rotary_emb_scale_base");
  const BertDefaults defaults =
      plain ? BertDefaults{.vocab_size = 30528, .context = 2048} : BertDefaults{.context = 1024};
  EncoderDescription model = bert_like(config, defaults);
  model.pooler.reset();
  nn::EncoderOptions& encoder = model.encoder;
  encoder.bases = {"nomic_bert", "bert", ""};
  // The table is padded, and the configuration may have the size before or after padding.
  const int64_t multiple = config.size("pad_vocab_size_multiple", 1);
  encoder.vocab_size = (encoder.vocab_size + multiple - 1) / multiple * multiple;
  encoder.positions.reset();
  encoder.embedding_norm = "emb_ln";
  encoder.layers_path = "encoder.layers";
  const int64_t head_dim = encoder.layers.at(0).attention().head_dim;
  if (config.size("head_dim", head_dim, kMaxHeadDim) != head_dim) {
    config.unsupported("head_dim", "one that is not hidden_size / num_attention_heads");
  }
  const double fraction =
      RopeSettings(config).rotary_factor(config.number("rotary_emb_fraction", 1.0));
  const auto dims = static_cast<int64_t>(static_cast<double>(head_dim) * fraction);
  if (dims < 2 || dims % 2 != 0 || dims > head_dim) {
    config.invalid("rotary_emb_fraction", fmt::format("turns {} of {} dimensions", dims, head_dim));
  }
  const double base = config.number("rotary_emb_base", plain ? 1000.0 : 10000.0);
  nn::RopeOptions rope = rope_options(config, dims, {.theta = base, .rotary_factor = fraction});
  // The class rescales frequencies for texts longer than the trained length.
  if (const auto factor = config.find_number("rotary_scaling_factor")) {
    rope.scaling.kind = nn::RopeScaling::Kind::Dynamic;
    rope.scaling.factor = *factor;
    rope.scaling.original_context = config.size("max_trained_positions", 2048, kMaxContext);
  }
  encoder.ropes = {rope};
  for (nn::LayerOptions& layer : encoder.layers) {
    layer.attention_path = "attn";
    layer.attention_norm = "norm1";
    layer.mlp_norm = "norm2";
    nn::AttentionOptions& attention = layer.attention();
    attention.layout = nn::QkvLayout::Blocks;
    attention.qkv = "Wqkv";
    attention.output = "out_proj";
    attention.qkv_bias = attention.output_bias = config.flag("qkv_proj_bias", !plain);
    attention.rope = 0;
    attention.rope_dims = dims;
    layer.mlp_path = "mlp";
    nn::MLPOptions& mlp = layer.mlp();
    if (!plain) {
      add_feed_forward(config, encoder.hidden_size, mlp);
      continue;
    }
    mlp.gated = true;
    mlp.bias = false;
    mlp.activation = config.activation("hidden_act", "silu");
    mlp.gate = "fc12";
    mlp.up = "fc11";
    mlp.down = "fc2";
  }
  if (!plain) add_experts(config, encoder);
  return model;
}

}  // namespace pippin::models
