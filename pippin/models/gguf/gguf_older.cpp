// GPT-2 and its successors, and other models with LayerNorms.
#include "pippin/models/gguf/gguf_architectures.h"

namespace pippin::models {
namespace {

void write_gpt_bigcode(GgufConfig& config) {
  const GgufKeys& keys = config.keys();
  const bool shared = keys.size("attention.head_count_kv").value_or(1) == 1;
  if (!shared) keys.unsupported("attention.head_count_kv", "only one key head is supported");
}

void write_mpt(GgufConfig& config) {
  const GgufKeys& keys = config.keys();
  JsonWriter json;
  json.begin_object().member("alibi", true);
  if (const auto most = keys.number("attention.max_alibi_bias")) {
    json.member("alibi_bias_max", *most);
  }
  if (const auto clip = keys.number("attention.clamp_kqv"); clip && *clip > 0) {
    json.member("clip_qkv", *clip);
  }
  config.set_json("attn_config", json.end_object().text());
}

// The new architecture has key heads for groups; its 40B and 180B models have two norms.
void write_falcon(GgufConfig& config) {
  const bool grouped = config.keys().size("attention.head_count_kv").value_or(1) > 1;
  const bool two_norms = config.has_in_blocks("attn_norm_2");
  config.set("new_decoder_architecture", grouped);
  config.set("multi_query", true);
  if (grouped) config.set("num_ln_in_parallel_attn", two_norms ? 2 : 1);
  config.set("bias", config.has_in_blocks("attn_qkv.bias"));
}

void write_stablelm(GgufConfig& config) {
  config.set("use_parallel_residual", !config.has_in_blocks("ffn_norm"));
}

void write_token_types(GgufConfig& config) {
  constexpr const char* kTypes = "token_types.weight";
  const GgufKeys& keys = config.keys();
  config.set("type_vocab_size", keys.has(kTypes) ? keys.rows(kTypes) : 0);
}

// Gates lie before `ffn_up` or in it: then it has twice as many rows as the feed-forward is wide.
void write_jina_bert(GgufConfig& config) {
  write_token_types(config);
  const GgufTensor* up = config.find_in_blocks("ffn_up.weight");
  const bool fused = up != nullptr && up->shape.size() == 2 &&
                     up->shape[0] == 2 * config.keys().required_size("feed_forward_length");
  config.set("feed_forward_type", fused || config.has_in_blocks("ffn_gate") ? "geglu" : "original");
}

void write_neox(GgufConfig& config) {
  const GgufKeys& keys = config.keys();
  config.set("use_parallel_residual",
             keys.metadata().flag(keys.full("use_parallel_residual")).value_or(true));
}

}  // namespace

std::vector<GgufArchitecture> gguf_older_architectures() {
  const std::vector<GgufField> width = {{"intermediate_size", "rows:ffn_up"}};
  return {
      {.name = "gpt2", .model_type = "gpt2", .class_name = "GPT2LMHeadModel", .fields = width},
      {.name = "starcoder",
       .model_type = "gpt_bigcode",
       .class_name = "GPTBigCodeForCausalLM",
       .fields = width,
       .write = write_gpt_bigcode},
      {.name = "starcoder2",
       .model_type = "starcoder2",
       .class_name = "Starcoder2ForCausalLM",
       .fields = {{"use_bias", "has:attn_q.bias"}, {"intermediate_size", "rows:ffn_up"}}},
      {.name = "gptneox",
       .model_type = "gpt_neox",
       .class_name = "GPTNeoXForCausalLM",
       .fields = {{"attention_bias", "has:attn_qkv.bias"}},
       .write = write_neox},
      {.name = "bloom", .model_type = "bloom", .class_name = "BloomForCausalLM", .fields = width},
      {.name = "mpt", .model_type = "mpt", .class_name = "MptForCausalLM", .write = write_mpt},
      {.name = "falcon",
       .model_type = "falcon",
       .class_name = "FalconForCausalLM",
       .fields = width,
       .write = write_falcon},
      {.name = "phi2", .model_type = "phi", .class_name = "PhiForCausalLM", .fields = width},
      {.name = "stablelm",
       .model_type = "stablelm",
       .class_name = "StableLmForCausalLM",
       .fields = {{"use_qkv_bias", "has:attn_q.bias"}, {"qk_layernorm", "has:attn_q_norm"}},
       .write = write_stablelm},
      {.name = "nemotron",
       .model_type = "nemotron",
       .class_name = "NemotronForCausalLM",
       .fields = {{"attention_bias", "has:attn_q.bias"}, {"mlp_bias", "has:ffn_up.bias"}}},
      {.name = "modern-bert",
       .model_type = "modernbert",
       .class_name = "ModernBertModel",
       .fields = {{"global_rope_theta", "rope.freq_base"},
                  {"local_rope_theta", "rope.freq_base_swa"},
                  {"local_attention", "attention.sliding_window"},
                  {"global_attn_every_n_layers", "attention.sliding_window_pattern"},
                  {"hidden_activation", "hidden_activation"},
                  {"norm_bias", "has:ffn_norm.bias"},
                  {"attention_bias", "has:attn_qkv.bias"},
                  {"mlp_bias", "has:ffn_up.bias"}},
       .encodes = true},
      {.name = "jina-bert-v2",
       .model_type = "bert",
       .class_name = "JinaBertModel",
       .fields = {{"qk_norm", "has:attn_q_norm"}},
       .members = R"({"position_embedding_type": "alibi"})",
       .write = write_jina_bert,
       .encodes = true},
      {.name = "jina-bert-v3",
       .model_type = "jina_embeddings_v3",
       .class_name = "JinaEmbeddingsV3Model",
       .write = write_token_types,
       .encodes = true},
      {.name = "nomic-bert-moe",
       .model_type = "nomic_bert",
       .class_name = "NomicBertModel",
       .fields = {{"n_inner", "feed_forward_length"},
                  {"rotary_emb_base", "rope.freq_base"},
                  {"qkv_proj_bias", "has:attn_qkv.bias"},
                  {"mlp_fc1_bias", "has:ffn_up.bias"},
                  {"mlp_fc2_bias", "has:ffn_down.bias"},
                  {"num_experts", "expert_count"},
                  {"moe_every_n_layers", "moe_every_n_layers"},
                  {"moe_top_k", "expert_used_count"}},
       .members = R"({"activation_function": "gelu"})",
       .write = write_token_types,
       .encodes = true},
      {.name = "eurobert",
       .model_type = "eurobert",
       .class_name = "EuroBertModel",
       .fields = {kGgufAttentionBias, {"mlp_bias", "has:ffn_up.bias"}},
       .encodes = true},
      {.name = "jais2",
       .model_type = "jais2",
       .class_name = "Jais2ForCausalLM",
       .fields = {{"attention_bias", "has:attn_q.bias"}, {"mlp_bias", "has:ffn_up.bias"}}},
  };
}

}  // namespace pippin::models
