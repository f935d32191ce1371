// EXAONE 3 and 3.5 (LG AI Research): Llama under other names.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions exaone(const Config& given) {
  Config config = given;
  config.alias("num_hidden_layers", "num_layers");
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 102400,
                                                 .hidden_size = 2048,
                                                 .num_layers = 32,
                                                 .num_heads = 32,
                                                 .context = 2048,
                                                 .epsilon_key = "layer_norm_epsilon",
                                                 .epsilon = 1e-5,
                                                 .activation_key = "activation_function",
                                                 .tied = true});
  model.base = "transformer";
  model.embedding = "wte";
  model.layers_path = "h";
  model.final_norm = "ln_f";
  const bool attention_bias = config.flag("attention_bias", false);
  const bool mlp_bias = config.flag("mlp_bias", false);
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention_norm = "ln_1";
    layer.mlp_norm = "ln_2";
    layer.attention_path = "attn.attention";
    layer.attention().output = "out_proj";
    layer.attention().qkv_bias = layer.attention().output_bias = attention_bias;
    layer.mlp().gate = "c_fc_0";
    layer.mlp().up = "c_fc_1";
    layer.mlp().down = "c_proj";
    layer.mlp().bias = mlp_bias;
  }
  return model;
}

}  // namespace pippin::models
