// RecurrentGemma (Google 2024), the Griffin architecture: two recurrent layers, then one of local
// attention with positions on half of each head. Gemma's norms, embedding and feed-forward.
#include <cmath>

#include <fmt/format.h>

#include "pippin/base/numbers/float16.h"
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/state_spaces.h"

namespace pippin::models {

nn::DecoderOptions recurrent_gemma(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 256000,
                                                 .hidden_size = 2560,
                                                 .intermediate_size = 7680,
                                                 .num_layers = 26,
                                                 .num_heads = 10,
                                                 .context = 8192,
                                                 .activation_key = "hidden_activation",
                                                 .activation = "gelu_pytorch_tanh",
                                                 .rotary_factor = 0.5,
                                                 .tied = true});
  model.final_norm = "final_norm";
  model.norm.one_plus = true;
  // The library multiplies by a number of that type, whatever the model's type.
  const auto root = static_cast<float>(std::sqrt(static_cast<double>(model.hidden_size)));
  model.embedding_scale = to_float(to_bfloat16(root));
  model.logit_softcap = config.number("logits_soft_cap", 30.0);

  nn::RecurrentUnitOptions unit;
  unit.features = model.hidden_size;
  unit.inner = config.size("lru_width", model.hidden_size);
  unit.heads = model.layers.at(0).attention().num_heads;
  config.require_multiple("lru_width", unit.inner, "num_attention_heads", unit.heads);
  unit.kernel = convolution_length(config, "conv1d_width");
  unit.activation = model.layers.at(0).mlp().activation;

  std::vector<std::string> pattern = {"recurrent", "recurrent", "attention"};
  if (const auto types = config.find("block_types")) pattern = types->as_strings();
  if (pattern.empty()) config.invalid("block_types", "empty");
  const int64_t window = config.size("attention_window_size", 2048, kMaxContext);
  const bool bias = config.flag("attention_bias", false);
  for (size_t i = 0; i < model.layers.size(); ++i) {
    nn::LayerOptions& layer = model.layers[i];
    layer.norm = model.norm;
    layer.attention_norm = "temporal_pre_norm";
    layer.attention_path = "temporal_block";
    layer.mlp_norm = "channel_pre_norm";
    layer.mlp_path = "mlp_block";
    if (layer.mlp().hidden_features % 2 != 0) config.invalid("intermediate_size", "is odd");
    layer.mlp().hidden_features /= 2;
    layer.mlp().bias = true;
    const std::string& kind = pattern[i % pattern.size()];
    if (kind == "recurrent") {
      layer.mixer = unit;
    } else if (kind == "attention") {
      layer.attention().window = window;
      layer.attention().qkv_bias = bias;
      layer.attention().output_bias = true;
    } else {
      config.unsupported("block_types", fmt::format("'{}' is not supported (known: attention, "
                                                    "recurrent)",
                                                    kind));
    }
  }
  return model;
}

}  // namespace pippin::models
