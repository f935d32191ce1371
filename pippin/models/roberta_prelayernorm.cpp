// RoBERTa with norms before the blocks (Ott et al. 2019, fairseq).
#include "pippin/models/encoders.h"

namespace pippin::models {

EncoderDescription roberta_prelayernorm(const Config& config) {
  EncoderDescription model = roberta(config);
  model.encoder.bases = {"roberta_prelayernorm", ""};
  model.encoder.final_norm = "LayerNorm";
  for (nn::LayerOptions& layer : model.encoder.layers) {
    layer.form = nn::LayerOptions::Form::Serial;
    layer.attention_norm = "attention.LayerNorm";
    layer.mlp_norm = "intermediate.LayerNorm";
  }
  return model;
}

}  // namespace pippin::models
