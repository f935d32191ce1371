// config.json for a GGUF's encoder.
#include <fmt/format.h>

#include "pippin/models/gguf/gguf_keys.h"

namespace pippin::models {
namespace {

constexpr const char* kEmbedding = "token_embd.weight";
constexpr const char* kTypes = "token_types.weight";
constexpr const char* kPooler = "cls.weight";
constexpr const char* kHead = "cls.output.weight";

void write_class(JsonWriter& json, std::string_view model_type, std::string_view class_name) {
  json.key("architectures").begin_array().value(class_name).end_array();
  json.member("model_type", model_type).member("torch_dtype", "float16");
}

void write_types(const GgufKeys& keys, JsonWriter& json) {
  json.member("type_vocab_size", keys.has(kTypes) ? keys.rows(kTypes) : 0);
}

void refuse_other_attention(const GgufKeys& keys) {
  if (keys.metadata().flag(keys.full("attention.causal")).value_or(false)) {
    keys.unsupported("attention.causal", "an encoder's queries see all of a text");
  }
  const auto kv = keys.size("attention.head_count_kv");
  if (kv && *kv != keys.required_size("attention.head_count")) {
    keys.unsupported("attention.head_count_kv", "as many as there are heads are read");
  }
}

void refuse_scores(const GgufKeys& keys) {
  if (gguf_pooling(keys) == GgufPooling::Rank) {
    keys.unsupported("pooling_type", "4 (scores) is not supported for it");
  }
}

void write_t5_sizes(const GgufKeys& keys, JsonWriter& json) {
  // Gates and distance biases are recognized by their tensors.
  const bool gated = keys.has("enc.blk.0.ffn_gate.weight");
  json.member("vocab_size", keys.rows(kEmbedding));
  json.member("d_model", keys.required_size("embedding_length"));
  json.member("d_kv", keys.required_size("attention.key_length"));
  json.member("d_ff", keys.required_size("feed_forward_length"));
  const int64_t layers = keys.required_size("block_count");
  json.member("num_layers", layers);
  json.member("num_decoder_layers", keys.size("decoder_block_count").value_or(layers));
  json.member("num_heads", keys.required_size("attention.head_count"));
  json.member("n_positions", keys.required_size("context_length"));
  json.member("layer_norm_epsilon", keys.required_number("attention.layer_norm_rms_epsilon"));
  json.member("relative_attention_num_buckets",
              keys.required_size("attention.relative_buckets_count"));
  json.member("feed_forward_proj", gated ? "gated-gelu" : "relu");
  json.member("tie_word_embeddings", !keys.has("output.weight"));
}

std::string_view t5_type(const GgufKeys& keys) {
  return keys.has("enc.blk.1.attn_rel_b.weight") ? "umt5" : "t5";
}

}  // namespace

// Also RoBERTa's kind, whose table of positions begins at its first token in this format.
void write_gguf_bert(const GgufKeys& keys, JsonWriter& json) {
  const bool scores = gguf_pooling(keys) == GgufPooling::Rank;
  write_class(json, "bert", scores ? "BertForSequenceClassification" : "BertModel");
  refuse_other_attention(keys);
  json.member("vocab_size", keys.rows(kEmbedding));
  json.member("hidden_size", keys.required_size("embedding_length"));
  json.member("intermediate_size", keys.required_size("feed_forward_length"));
  json.member("num_hidden_layers", keys.required_size("block_count"));
  json.member("num_attention_heads", keys.required_size("attention.head_count"));
  json.member("max_position_embeddings", keys.required_size("context_length"));
  json.member("layer_norm_eps", keys.required_number("attention.layer_norm_epsilon"));
  write_types(keys, json);
  if (!scores) return;
  json.member("num_labels", keys.rows(kHead)).member(kGgufBareHead, !keys.has(kPooler));
}

void write_gguf_nomic_bert(const GgufKeys& keys, JsonWriter& json) {
  refuse_scores(keys);
  refuse_other_attention(keys);
  if (keys.number("rope.scaling.factor").value_or(1) != 1) {
    keys.unsupported("rope.scaling.factor", "1 alone is read");
  }
  write_class(json, "nomic_bert", "NomicBertModel");
  json.member("vocab_size", keys.rows(kEmbedding));
  json.member("n_embd", keys.required_size("embedding_length"));
  json.member("n_inner", keys.required_size("feed_forward_length"));
  json.member("n_layer", keys.required_size("block_count"));
  json.member("n_head", keys.required_size("attention.head_count"));
  json.member("n_positions", keys.required_size("context_length"));
  json.member("layer_norm_epsilon", keys.required_number("attention.layer_norm_epsilon"));
  json.member("rotary_emb_base", keys.required_number("rope.freq_base"));
  json.member("qkv_proj_bias", keys.has("blk.0.attn_qkv.bias"));
  json.member("mlp_fc1_bias", keys.has("blk.0.ffn_up.bias"));
  json.member("mlp_fc2_bias", keys.has("blk.0.ffn_down.bias"));
  write_types(keys, json);
}

void write_gguf_t5(const GgufKeys& keys, JsonWriter& json) {
  const auto start = keys.size("decoder_start_token_id");
  write_class(json, t5_type(keys), "T5ForConditionalGeneration");
  write_t5_sizes(keys, json);
  json.member("decoder_start_token_id", start.value_or(0));
}

void write_gguf_t5_encoder(const GgufKeys& keys, JsonWriter& json) {
  refuse_scores(keys);
  write_class(json, t5_type(keys), "T5EncoderModel");
  write_t5_sizes(keys, json);
}

}  // namespace pippin::models
