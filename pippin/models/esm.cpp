// ESM-1b and ESM-2 (Lin et al. 2022), protein models: norms before the blocks, rotary or learned
// positions, embeddings scaled for masked tokens.
#include <fmt/format.h>

#include "pippin/models/config/common.h"
#include "pippin/models/encoders.h"

namespace pippin::models {

EncoderDescription esm(const Config& config) {
  config.require_flag("is_folding_model", false, false);
  config.require_absent("esmfold_config");
  const std::string positions = config.text("position_embedding_type", "absolute");
  // The class's feed-forward has one activation.
  config.ignore({"hidden_act"});
  EncoderDescription model = bert_like(config, {.context = 1026});
  nn::EncoderOptions& encoder = model.encoder;
  encoder.bases = {"esm", ""};
  encoder.token_types.clear();
  encoder.several_token_types = false;
  encoder.embedding_norm =
      config.flag("emb_layer_norm_before", false) ? "embeddings.layer_norm" : "";
  encoder.final_norm = "encoder.emb_layer_norm_after";
  if (positions == "rotary") {
    add_encoder_rope(config, encoder, 10000.0);
  } else if (positions == "absolute") {
    count_positions(config, encoder, 1);
  } else {
    config.unsupported("position_embedding_type",
                       fmt::format("'{}' is not supported (known: absolute, rotary)", positions));
  }
  if (config.flag("token_dropout", false)) {
    const int64_t mask = config.json().get_int_between("mask_token_id", 0, kMaxSize);
    // 15 % of the tokens were chosen for training, of which 80 % were masked.
    encoder.token_dropout =
        nn::TokenDropout{.token = static_cast<int32_t>(mask), .share = 0.15 * 0.8};
  }
  for (nn::LayerOptions& layer : encoder.layers) {
    layer.form = nn::LayerOptions::Form::Serial;
    layer.attention_norm = "attention.LayerNorm";
    layer.mlp_norm = "LayerNorm";
    layer.mlp().activation = nn::Activation::Gelu;
  }
  encoder.unused = {"contact_head.", "embeddings.position_embeddings."};
  model.classifier = two_layer_classifier(nn::Activation::Tanh);
  model.language_head = roberta_language_head(config, encoder);
  return model;
}

}  // namespace pippin::models
