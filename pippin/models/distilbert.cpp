// DistilBERT (Sanh et al. 2019): BERT without token types, with names of its own.
#include "pippin/models/config/common.h"
#include "pippin/models/encoders.h"

namespace pippin::models {

EncoderDescription distilbert(const Config& given) {
  Config config = given;
  config.alias("hidden_size", "dim");
  config.alias("num_attention_heads", "n_heads");
  config.alias("num_hidden_layers", "n_layers");
  config.alias("intermediate_size", "hidden_dim");
  config.alias("hidden_act", "activation");
  EncoderDescription model = bert_like(config, {.num_layers = 6});
  nn::EncoderOptions& encoder = model.encoder;
  encoder.bases = {"distilbert", ""};
  encoder.token_types.clear();
  encoder.several_token_types = false;
  encoder.layers_path = "transformer.layer";
  for (nn::LayerOptions& layer : encoder.layers) {
    layer.attention_norm = "sa_layer_norm";
    layer.mlp_norm = "output_layer_norm";
    layer.attention().query = "q_lin";
    layer.attention().key = "k_lin";
    layer.attention().value = "v_lin";
    layer.attention().output = "out_lin";
    layer.mlp_path = "ffn";
    layer.mlp().up = "lin1";
    layer.mlp().down = "lin2";
  }
  model.classifier = {
      .dense = "pre_classifier", .activation = nn::Activation::Relu, .output = "classifier"};
  model.pooler.reset();
  model.language_head->dense = "vocab_transform";
  model.language_head->norm.name = "vocab_layer_norm";
  model.language_head->bias_owner = "vocab_projector";
  if (!model.language_head->tied) model.language_head->output = "vocab_projector";
  return model;
}

}  // namespace pippin::models
