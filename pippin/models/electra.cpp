// ELECTRA (Clark et al. 2020): BERT with an embedding of its own width.
#include "pippin/models/encoders.h"

namespace pippin::models {

EncoderDescription electra(const Config& config) {
  EncoderDescription model = bert_like(config);
  model.encoder.bases = {"electra", ""};
  model.encoder.embedding_size = config.size("embedding_size", 128);
  model.encoder.projection = "embeddings_project";
  model.classifier = two_layer_classifier(nn::Activation::Gelu);
  return model;
}

}  // namespace pippin::models
