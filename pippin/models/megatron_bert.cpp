// Megatron's BERT (Shoeybi et al. 2019): norms before the blocks, none after the embedding.
#include "pippin/models/encoders.h"

namespace pippin::models {

EncoderDescription megatron_bert(const Config& config) {
  EncoderDescription model = bert_like(config, {.vocab_size = 29056,
                                                .hidden_size = 1024,
                                                .intermediate_size = 4096,
                                                .num_layers = 24,
                                                .num_heads = 16});
  model.encoder.embedding_norm.clear();
  model.encoder.final_norm = "encoder.ln";
  for (nn::LayerOptions& layer : model.encoder.layers) {
    layer.form = nn::LayerOptions::Form::Serial;
    layer.attention_norm = "attention.ln";
    layer.mlp_norm = "ln";
  }
  return model;
}

}  // namespace pippin::models
