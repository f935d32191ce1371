#include "pippin/models/config/t5_config.h"

#include <algorithm>
#include <string_view>

#include "pippin/models/config/common.h"

namespace pippin::models {

namespace {

// The defaults of the classes.
struct T5Defaults {
  int64_t vocab_size, inner_width, layers, heads;
  std::string_view feed_forward;
  bool tied;
};

T5Defaults defaults_of(std::string_view type) {
  if (type == "t5" || type == "longt5") return {32128, 2048, 6, 8, "relu", true};
  return {250112, 1024, 8, 6, "gated-gelu", type == "umt5"};
}

}  // namespace

T5Config::T5Config(const Config& config) {
  const std::string type = config.text("model_type", "t5");
  const T5Defaults defaults = defaults_of(type);
  vocab_size = config.size("vocab_size", defaults.vocab_size);
  width = config.size("d_model", 512);
  head_dim = config.size("d_kv", 64, kMaxHeadDim);
  inner_width = config.size("d_ff", defaults.inner_width);
  encoder_layers = config.size("num_layers", defaults.layers, kMaxLayers);
  decoder_layers = config.size("num_decoder_layers", encoder_layers, kMaxLayers);
  heads = config.size("num_heads", defaults.heads, kMaxHeads);
  context = std::max<int64_t>(config.size("n_positions", 512, kMaxContext), 2048);
  norm.epsilon = config.number("layer_norm_epsilon", 1e-6);
  tied = config.flag("tie_word_embeddings", defaults.tied);
  bias_of_each_layer = type == "umt5";
  if (type == "longt5") {
    const std::string kind = config.text("encoder_attention_type", "local");
    if (kind != "local") {
      config.unsupported("encoder_attention_type",
                         "'" + kind + "' is not supported (known: local)");
    }
    radius = config.size("local_radius", 127, kMaxContext);
  }
  // "relu", "gated-gelu": the last is what the class calls the approximation by tanh.
  std::string kind = config.text("feed_forward_proj", defaults.feed_forward);
  constexpr std::string_view kGated = "gated-";
  gated = kind.starts_with(kGated);
  if (gated) kind = kind.substr(kGated.size());
  config.ignore({"dense_act_fn", "is_gated_act", "is_encoder_decoder"});
  activation = gated && kind == "gelu" ? nn::Activation::GeluTanh
                                       : config.activation_called(kind, "feed_forward_proj");
  bias = {.heads = heads,
          .buckets = config.size("relative_attention_num_buckets", 32, kMaxContext),
          .max_distance = config.size("relative_attention_max_distance", 128, kMaxContext)};
  if (bias.buckets < 4 || bias.buckets % 2 != 0 || bias.max_distance <= bias.buckets / 2) {
    config.invalid("relative_attention_num_buckets", "no even number from 4, below the distances");
  }
}

nn::AttentionOptions T5Config::attention() const {
  nn::AttentionOptions options;
  options.features = width;
  options.num_heads = options.num_kv_heads = heads;
  options.head_dim = head_dim;
  options.query = "q";
  options.key = "k";
  options.value = "v";
  options.output = "o";
  options.scale = 1.0;
  return options;
}

nn::MLPOptions T5Config::mlp() const {
  nn::MLPOptions options;
  options.features = width;
  options.hidden_features = inner_width;
  options.activation = activation;
  options.gated = gated;
  options.gate = "wi_0";
  options.up = gated ? "wi_1" : "wi";
  options.down = "wo";
  return options;
}

}  // namespace pippin::models
