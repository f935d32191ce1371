// EuroBERT (Boizard et al. 2025): Llama with bidirectional attention.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/encoders.h"

namespace pippin::models {

EncoderDescription eurobert(const Config& config) {
  nn::DecoderOptions layers = llama_like(config, {.vocab_size = 128256,
                                                  .hidden_size = 768,
                                                  .intermediate_size = 3072,
                                                  .num_layers = 12,
                                                  .num_heads = 12,
                                                  .context = 8192,
                                                  .epsilon = 1e-5,
                                                  .rope_theta = 250000.0});
  const bool attention_bias = config.flag("attention_bias", false);
  const bool mlp_bias = config.flag("mlp_bias", false);
  for (nn::LayerOptions& layer : layers.layers) {
    layer.attention().qkv_bias = layer.attention().output_bias = attention_bias;
    layer.mlp().bias = mlp_bias;
  }
  EncoderDescription model;
  model.encoder = nn::as_encoder(layers);
  model.encoder.causal = false;
  using From = nn::ClassifierOptions::From;
  model.classifier = {.dense = "dense", .activation = nn::Activation::Gelu, .output = "classifier"};
  const std::string pooling = config.text("classifier_pooling", "late");
  if (pooling == "late") {
    model.classifier.from = From::Scores;
  } else if (pooling == "mean") {
    model.classifier.from = From::Mean;
  } else if (pooling != "bos") {
    config.unsupported("classifier_pooling",
                       "'" + pooling + "' is not supported (known: bos, mean, late)");
  }
  model.language_head = nn::ClassifierOptions{.from = From::Each,
                                              .output = "lm_head",
                                              .output_bias = mlp_bias,
                                              .tied = layers.tied,
                                              .bias_owner = mlp_bias ? "lm_head" : "",
                                              .labels = layers.vocab_size};
  return model;
}

}  // namespace pippin::models
