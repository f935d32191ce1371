// OPT (Zhang et al. 2022): learned positions from row 2 on, LayerNorms and biases, in OPT-350M
// norms after the residual and an embedding narrower than the layers.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions opt(const Config& given) {
  Config config = given;
  config.alias("intermediate_size", "ffn_dim");
  nn::DecoderOptions model = plain_decoder(config, {.vocab_size = 50272,
                                                    .hidden_size = 768,
                                                    .intermediate_size = 3072,
                                                    .num_layers = 12,
                                                    .num_heads = 12,
                                                    .context = 2048,
                                                    .epsilon_key = "layer_norm_eps",
                                                    .epsilon = 1e-5,
                                                    .activation_key = "activation_function",
                                                    .activation = "relu",
                                                    .tied = true});
  const bool before = config.flag("do_layer_norm_before", true);
  model.base = "model.decoder";
  model.embedding_size = config.size("word_embed_proj_dim", model.hidden_size);
  model.positions =
      nn::LearnedPositions{.path = "embed_positions", .rows = model.context + 2, .offset = 2};
  const bool final_norm = before && !config.flag("_remove_final_layer_norm", false);
  model.final_norm = final_norm ? "final_layer_norm" : "";
  const bool affine = config.flag("layer_norm_elementwise_affine", true);
  model.norm.kind = nn::NormOptions::Kind::Layer;
  model.norm.weight = model.norm.bias = affine;
  const bool bias = config.flag("enable_bias", true);
  for (nn::LayerOptions& layer : model.layers) {
    layer.norm = model.norm;
    if (!before) layer.form = nn::LayerOptions::Form::NormAfter;
    layer.attention_norm = "self_attn_layer_norm";
    layer.mlp_norm = "final_layer_norm";
    layer.mlp_path.clear();
    layer.attention().output = "out_proj";
    layer.attention().qkv_bias = layer.attention().output_bias = bias;
    layer.mlp().gated = false;
    layer.mlp().bias = bias;
    layer.mlp().up = "fc1";
    layer.mlp().down = "fc2";
  }
  return model;
}

}  // namespace pippin::models
