// GPT-NeoX-Japanese (ABEJA 2022): GPT-NeoX with serial halves, without biases except on the last
// layer's attention output.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

nn::DecoderOptions gpt_neox_japanese(const Config& given) {
  Config config = given;
  config.alias("rope_theta", "rotary_emb_base");
  config.alias("partial_rotary_factor", "rotary_pct");
  const auto hidden = static_cast<double>(config.size("hidden_size", 2560));
  const double width = hidden * config.number("intermediate_multiple_size", 4.0);
  if (width < 1 || width > static_cast<double>(kMaxSize)) {
    config.invalid("intermediate_multiple_size", "out of range");
  }
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 32000,
                                                 .hidden_size = 2560,
                                                 .intermediate_size = static_cast<int64_t>(width),
                                                 .width_key = "",
                                                 .num_layers = 32,
                                                 .num_heads = 32,
                                                 .context = 2048,
                                                 .epsilon_key = "layer_norm_eps",
                                                 .epsilon = 1e-5,
                                                 .activation = "gelu",
                                                 .rotary_factor = 1.0,
                                                 .tied = true});
  model.base = "gpt_neox_japanese";
  model.embedding = "embed_in";
  model.final_norm = "final_layer_norm";
  model.head = "embed_out";
  model.norm.kind = nn::NormOptions::Kind::Layer;
  model.norm.bias = true;
  for (nn::LayerOptions& layer : model.layers) {
    layer.norm = model.norm;
    layer.attention_path = "attention";
    use_neox_layer(layer, false);
    layer.mlp().bias = false;
  }
  model.layers.back().attention().output_bias = true;
  return model;
}

}  // namespace pippin::models
