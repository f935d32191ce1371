// ELECTRA (Clark et al. 2020): BERT with an embedding of its own width.
#include "pippin/models/encoders.h"

namespace pippin::models {

nn::ClassifierOptions electra_language_head(const Config& config,
                                            const nn::EncoderOptions& encoder) {
  nn::ClassifierOptions head =
      bert_language_head(config, encoder, "generator_predictions", "generator_lm_head");
  head.dense_size = encoder.embedding_size;
  head.activation = nn::Activation::Gelu;
  if (!head.tied) head.output = "generator_lm_head";
  return head;
}

EncoderDescription electra(const Config& config) {
  EncoderDescription model =
      bert_like(config, {.hidden_size = 256, .intermediate_size = 1024, .num_heads = 4});
  model.encoder.bases = {"electra", ""};
  model.encoder.embedding_size = config.size("embedding_size", 128);
  model.encoder.projection = "embeddings_project";
  model.classifier = two_layer_classifier(nn::Activation::Gelu);
  model.pooler.reset();
  model.language_head = electra_language_head(config, model.encoder);
  model.discriminator =
      nn::ClassifierOptions{.from = nn::ClassifierOptions::From::Each,
                            .dense = "discriminator_predictions.dense",
                            .activation = config.activation("hidden_act", "gelu"),
                            .output = "discriminator_predictions.dense_prediction"};
  return model;
}

}  // namespace pippin::models
