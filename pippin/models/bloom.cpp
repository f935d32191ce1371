// BLOOM (BigScience 2022): ALiBi, a LayerNorm after the embedding, q, k and v of each head adjacent
// in one matrix.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

nn::DecoderOptions bloom(const Config& given) {
  Config config = given;
  config.alias("hidden_size", "n_embed");
  config.alias("num_hidden_layers", "n_layer");
  config.alias("num_attention_heads", "n_head");
  config.alias("max_position_embeddings", "seq_length");
  nn::DecoderOptions model = plain_decoder(config, {.vocab_size = 250880,
                                                    .hidden_size = 64,
                                                    .num_layers = 2,
                                                    .num_heads = 8,
                                                    .context = 2048,
                                                    .epsilon_key = "layer_norm_epsilon",
                                                    .epsilon = 1e-5,
                                                    .activation = "gelu_pytorch_tanh",
                                                    .tied = true});
  model.base = "transformer";
  model.embedding = "word_embeddings";
  model.embedding_norm = "word_embeddings_layernorm";
  model.layers_path = "h";
  model.final_norm = "ln_f";
  model.norm.kind = nn::NormOptions::Kind::Layer;
  model.norm.bias = true;
  model.alibi = nn::AlibiOptions{.slopes = nn::alibi_slopes(model.layers[0].attention().num_heads)};
  const bool carried = config.flag("apply_residual_connection_post_layernorm", false);
  for (nn::LayerOptions& layer : model.layers) {
    layer.norm = model.norm;
    if (carried) layer.form = nn::LayerOptions::Form::NormCarried;
    layer.attention_path = "self_attention";
    use_neox_layer(layer, true);
  }
  return model;
}

}  // namespace pippin::models
