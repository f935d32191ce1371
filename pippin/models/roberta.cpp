// RoBERTa (Liu et al. 2019), XLM-RoBERTa and CamemBERT: BERT whose positions start after the id of
// the padding token, and count only other tokens.
#include <string>

#include <fmt/format.h>

#include "pippin/models/encoders.h"

namespace pippin::models {

nn::ClassifierOptions two_layer_classifier(nn::Activation activation) {
  return {.dense = "classifier.dense", .activation = activation, .output = "classifier.out_proj"};
}

void count_positions(const Config& config, nn::EncoderOptions& encoder, int64_t default_pad) {
  const int64_t pad = config.json().get_int_or("pad_token_id", default_pad);
  if (pad < 0 || pad >= encoder.vocab_size || pad + 2 > encoder.context) {
    config.invalid("pad_token_id", fmt::format("{} with {} positions and {} tokens", pad,
                                               encoder.context, encoder.vocab_size));
  }
  encoder.positions->offset = pad;
  encoder.uncounted = static_cast<int32_t>(pad);
  encoder.context -= pad + 1;
}

nn::ClassifierOptions roberta_language_head(const Config& config,
                                            const nn::EncoderOptions& encoder) {
  nn::ClassifierOptions head = bert_language_head(config, encoder, "lm_head", "lm_head");
  head.activation = nn::Activation::Gelu;
  head.norm.name = "lm_head.layer_norm";
  return head;
}

EncoderDescription roberta(const Config& config) {
  const bool is_roberta = config.text("model_type", "roberta").starts_with("roberta");
  EncoderDescription model = bert_like(config, {.vocab_size = is_roberta ? 50265 : 30522});
  model.encoder.bases = {"roberta", ""};
  count_positions(config, model.encoder, 1);
  model.classifier = two_layer_classifier(nn::Activation::Tanh);
  model.language_head = roberta_language_head(config, model.encoder);
  return model;
}

}  // namespace pippin::models
