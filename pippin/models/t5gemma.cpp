// T5Gemma (Zhang et al. 2025), an encoder–decoder: Gemma 2's blocks in both halves, and attention
// to the source between the decoder's attention and its feed-forward.
#include <algorithm>

#include "pippin/models/architectures.h"
#include "pippin/models/encoders.h"
#include "pippin/models/encoders/encoder_decoder_description.h"

namespace pippin::models {

EncoderDecoderDescription t5gemma_encoder_decoder(const Config& config) {
  const auto given = config.find("decoder");
  if (!given) config.invalid("decoder", "missing");
  EncoderDecoderDescription model;
  model.encoder = describe_encoder(config).encoder;
  const Config sizes(*given);
  sizes.ignore({"is_encoder_decoder", "cross_attention_hidden_size"});
  const nn::DecoderOptions decoder = gemma2(sizes);
  const int64_t source = sizes.size("cross_attention_hidden_size", decoder.hidden_size);
  if (source != decoder.hidden_size || model.encoder.hidden_size != decoder.hidden_size) {
    sizes.unsupported("hidden_size", "an encoder of another width is not supported");
  }
  sizes.refuse_unread();
  model.vocab_size = decoder.vocab_size;
  model.width = decoder.hidden_size;
  model.context = std::min(decoder.context, model.encoder.context);
  const int64_t bos = sizes.json().get_int_or("bos_token_id", 2);
  model.start = config.json().get_int_or("decoder_start_token_id",
                                         config.json().get_int_or("bos_token_id", bos));
  model.base = "model.decoder";
  model.embedding = "model.decoder.embed_tokens";
  model.embedding_scale = decoder.embedding_scale;
  model.norm = decoder.norm;
  model.final_norm = "norm";
  model.ropes = decoder.ropes;
  for (size_t i = 0; i < decoder.layers.size(); ++i) {
    auto& [own, across] = model.layers.emplace_back();
    own = across = decoder.layers[i];
    own.attention_norm = "pre_self_attn_layernorm";
    own.attention_post_norm = "post_self_attn_layernorm";
    own.mlp_norm.clear();
    own.mlp_post_norm.clear();
    own.feed_forward = nn::NoFeedForwardOptions{};
    across.attention_path = "cross_attn";
    across.attention_norm = "pre_cross_attn_layernorm";
    across.attention_post_norm = "post_cross_attn_layernorm";
    across.attention().keys_of = static_cast<int64_t>(i);
    across.attention().rope.reset();
    across.attention().window.reset();
    across.mlp_norm = "pre_feedforward_layernorm";
    across.mlp_post_norm = "post_feedforward_layernorm";
  }
  model.head = "lm_head.out_proj";
  model.tied = config.flag("tie_word_embeddings", true);
  if (model.tied) model.unused = {"lm_head."};
  model.softcap = decoder.logit_softcap;
  return model;
}

}  // namespace pippin::models
