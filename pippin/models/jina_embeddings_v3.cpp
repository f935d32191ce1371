// Jina Embeddings 3 (Sturua et al. 2024) as transformers has it: RoBERTa with rotary positions
// under Nomic BERT's names, without adapters.
#include "pippin/models/config/common.h"
#include "pippin/models/encoders.h"

namespace pippin::models {

EncoderDescription jina_embeddings_v3(const Config& config) {
  const std::string positions = config.text("position_embedding_type", "rotary");
  if (positions != "rotary") {
    config.unsupported("position_embedding_type",
                       "'" + positions + "' is not supported (known: rotary)");
  }
  EncoderDescription model = bert_like(config, {.vocab_size = 250002,
                                                .hidden_size = 1024,
                                                .intermediate_size = 4096,
                                                .num_layers = 24,
                                                .num_heads = 16,
                                                .context = 8194,
                                                .token_types = 1,
                                                .epsilon = 1e-5});
  nn::EncoderOptions& encoder = model.encoder;
  encoder.bases = {"roberta", "model", ""};
  encoder.embedding_norm = "emb_ln";
  encoder.layers_path = "encoder.layers";
  add_encoder_rope(config, encoder, 20000.0);
  for (nn::LayerOptions& layer : encoder.layers) {
    layer.attention_path = "mixer";
    layer.attention_norm = "norm1";
    layer.mlp_norm = "norm2";
    layer.attention().layout = nn::QkvLayout::Blocks;
    layer.attention().qkv = "Wqkv";
    layer.attention().output = "out_proj";
    layer.mlp_path = "mlp";
    layer.mlp().up = "fc1";
    layer.mlp().down = "fc2";
  }
  model.classifier = two_layer_classifier(nn::Activation::Tanh);
  model.language_head = roberta_language_head(config, encoder);
  return model;
}

}  // namespace pippin::models
