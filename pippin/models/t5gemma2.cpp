// T5Gemma 2 (Google 2025), an encoder–decoder for texts and pictures, of which this is the text
// model: Gemma 3's blocks, and one attention of the decoder to earlier tokens and to the source.
#include <algorithm>
#include <optional>
#include <string>

#include "pippin/models/architectures.h"
#include "pippin/models/encoders.h"
#include "pippin/models/encoders/encoder_decoder_description.h"

namespace pippin::models {
namespace {

// Gemma 3 under this model's names.
nn::DecoderOptions blocks_of(const Config& sizes) {
  sizes.ignore({"is_encoder_decoder"});
  nn::DecoderOptions blocks = gemma3(sizes);
  sizes.refuse_unread();
  for (nn::LayerOptions& layer : blocks.layers) {
    layer.attention_norm = "pre_self_attn_layernorm";
    layer.attention_post_norm = "post_self_attn_layernorm";
  }
  return blocks;
}

// The end of an image has an embedding apart.
nn::TokenVector end_of_image(const Config& config) {
  const auto encoder = config.find("encoder");
  std::optional<Json> given = config.find("eoi_token_index");
  if (!given && encoder) given = encoder->find("eoi_token_index");
  const int64_t token = given ? given->as_int(0, kMaxSize) : 256000;
  return {"eoi_embedding", static_cast<int32_t>(token)};
}

}  // namespace

EncoderDescription t5gemma2_encoder(const Config& config) {
  const auto own = config.find("encoder");
  if (!own) config.invalid("encoder", "missing");
  config.ignore({"is_encoder_decoder", "decoder"});
  const auto text = own->find("text_config");
  EncoderDescription model;
  model.encoder = nn::as_encoder(blocks_of(Config(text.value_or(*own))));
  nn::EncoderOptions& encoder = model.encoder;
  encoder.bases = {"model.encoder.text_model", "model.encoder", "encoder.text_model", "encoder",
                   ""};
  encoder.embedding = "embed_tokens";
  encoder.own_vector = end_of_image(config);
  encoder.layers_path = "layers";
  encoder.final_norm = "norm";
  encoder.causal = false;
  encoder.unused = {"vision_tower.", "multi_modal_projector."};
  // A window has its keys on both sides, one fewer before the query if their number is even.
  for (nn::LayerOptions& layer : encoder.layers) {
    nn::AttentionOptions& attention = layer.attention();
    if (!attention.window) continue;
    attention.window_after = *attention.window / 2;
    attention.window = (*attention.window - 1) / 2;
  }
  return model;
}

EncoderDecoderDescription t5gemma2_encoder_decoder(const Config& config) {
  const auto given = config.find("decoder");
  if (!given) config.invalid("decoder", "missing");
  EncoderDecoderDescription model;
  model.encoder = describe_encoder(config).encoder;
  const Config sizes(*given);
  const nn::DecoderOptions decoder = blocks_of(sizes);
  if (model.encoder.hidden_size != decoder.hidden_size ||
      model.encoder.vocab_size != decoder.vocab_size) {
    sizes.unsupported("hidden_size", "an encoder of another width or vocabulary is not supported");
  }
  model.vocab_size = decoder.vocab_size;
  model.width = decoder.hidden_size;
  model.context = std::min(decoder.context, model.encoder.context);
  const int64_t bos = sizes.json().get_int_or("bos_token_id", 2);
  model.start = config.json().get_int_or("decoder_start_token_id",
                                         config.json().get_int_or("bos_token_id", bos));
  model.tied = config.flag("tie_word_embeddings", true);
  model.base = "model.decoder";
  model.embedding = "model.decoder.embed_tokens";
  model.embedding_of_encoder = model.tied;
  model.embedding_scale = decoder.embedding_scale;
  model.own_vector = model.encoder.own_vector;
  model.norm = decoder.norm;
  model.final_norm = "norm";
  model.ropes = decoder.ropes;
  for (const nn::LayerOptions& layer : decoder.layers) model.layers.push_back({layer, layer});
  model.merged = true;
  model.head = "lm_head.out_proj";
  model.unused = {"model.encoder.vision_tower.", "model.encoder.multi_modal_projector."};
  if (model.tied)
    model.unused.insert(model.unused.end(), {"lm_head.", "model.decoder.embed_tokens."});
  model.softcap = decoder.logit_softcap;
  return model;
}

}  // namespace pippin::models
