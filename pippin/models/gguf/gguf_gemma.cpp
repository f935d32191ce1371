// Gemma's generations.
#include <algorithm>
#include <cmath>

#include "pippin/models/gguf/gguf_architectures.h"

namespace pippin::models {
namespace {

// 27B scale scores by the width instead of a head's size.
void write_score_scale(GgufConfig& config, int64_t largest_layers) {
  const GgufKeys& keys = config.keys();
  const auto heads = static_cast<double>(keys.required_size("attention.head_count"));
  const auto hidden = static_cast<double>(keys.required_size("embedding_length"));
  const auto head_dim = keys.number("attention.key_length").value_or(hidden / heads);
  config.set("query_pre_attn_scalar",
             config.layers() == largest_layers ? hidden / heads : head_dim);
}

void write_gemma2(GgufConfig& config) {
  const GgufKeys& keys = config.keys();
  write_score_scale(config, 46);
  config.set("attn_logit_softcapping", keys.number("attn_logit_softcapping").value_or(50.0));
  config.set("final_logit_softcapping", keys.number("final_logit_softcapping").value_or(30.0));
}

void write_gemma3(GgufConfig& config) {
  write_score_scale(config, 62);
  if (const auto base = config.keys().number("rope.freq_base_swa")) {
    config.set("rope_local_base_freq", *base);
  }
}

void write_embedding_gemma(GgufConfig& config) {
  write_score_scale(config, 0);
}

// A fraction of a normal distribution; the format stores the quantile.
void write_gemma3n(GgufConfig& config) {
  const GgufKeys& keys = config.keys();
  std::vector<double> shares;
  for (const double quantile : keys.metadata().numbers(keys.full("activation_sparsity_scale"))) {
    shares.push_back(0.5 * std::erfc(-quantile / std::sqrt(2.0)));
  }
  shares.resize(static_cast<size_t>(config.layers()), 0.0);
  config.set("activation_sparsity_pattern", shares);
  config.set("intermediate_size", config.by_layer("feed_forward_length"));
  config.set("vocab_size_per_layer_input", keys.rows("per_layer_token_embd.weight"));
  config.set("altup_correct_scale", config.has_in_blocks("altup_correct_scale"));
}

// The fraction of dimensions that full layers rotate: the others have no frequency.
double turned_share(const GgufMetadata& metadata) {
  if (metadata.tensor("rope_freqs.weight") == nullptr) return 1.0;
  const std::vector<double> factors = metadata.tensor_numbers("rope_freqs.weight");
  const auto turned =
      std::count_if(factors.begin(), factors.end(), [](double one) { return one < 1e20; });
  return static_cast<double>(turned) / static_cast<double>(std::max<size_t>(factors.size(), 1));
}

void write_gemma4_ropes(GgufConfig& config) {
  const GgufKeys& keys = config.keys();
  JsonWriter json;
  json.begin_object().key("full_attention").begin_object();
  json.member("rope_type", "proportional");
  json.member("rope_theta", keys.required_number("rope.freq_base"));
  json.member("partial_rotary_factor", turned_share(keys.metadata())).end_object();
  json.key("sliding_attention").begin_object().member("rope_type", "default");
  json.member("rope_theta", keys.number("rope.freq_base_swa").value_or(10000)).end_object();
  config.set_json("rope_parameters", json.end_object().text());
  config.erase("rope_scaling");
  config.erase("rope_theta");
  config.erase("partial_rotary_factor");
}

void write_gemma4(GgufConfig& config) {
  const GgufKeys& keys = config.keys();
  write_gemma4_ropes(config);
  const std::vector<int64_t> sliding = config.by_layer("attention.sliding_window_pattern");
  const std::vector<int64_t> heads = config.by_layer("attention.head_count_kv");
  const std::vector<int64_t> widths = config.by_layer("feed_forward_length");
  const std::vector<int64_t> values = config.layers_with("attn_v");
  const std::vector<int64_t> own = config.layers_with("attn_k");
  bool shared_values = false;
  for (size_t i = 0; i < sliding.size(); ++i) {
    config.set(sliding[i] != 0 ? "num_key_value_heads" : "num_global_key_value_heads", heads[i]);
    shared_values = shared_values || (sliding[i] == 0 && own[i] != 0 && values[i] == 0);
  }
  config.set("attention_k_eq_v", shared_values);
  const int64_t head_dim = keys.required_size("attention.key_length");
  config.set("global_head_dim", head_dim);
  config.set("head_dim", keys.size("attention.key_length_swa").value_or(head_dim));
  config.set("intermediate_size", widths.front());
  config.set("use_double_wide_mlp", widths.back() == 2 * widths.front());
  config.set("num_kv_shared_layers", keys.size("attention.shared_kv_layers").value_or(0));
  const int64_t row = keys.size("embedding_length_per_layer_input").value_or(0);
  config.set("hidden_size_per_layer_input", row);
  if (row > 0) config.set("vocab_size_per_layer_input", keys.rows("per_layer_token_embd.weight"));
  const bool mixture = config.has_in_blocks("ffn_gate_inp");
  config.set("enable_moe_block", mixture);
  if (!mixture) return;
  config.set_from("num_experts", "expert_count");
  config.set_from("top_k_experts", "expert_used_count");
  config.set_from("moe_intermediate_size", "expert_feed_forward_length");
}

}  // namespace

std::vector<GgufArchitecture> gguf_gemma_architectures() {
  constexpr std::string_view kActivation = R"({"hidden_activation": "gelu_pytorch_tanh"})";
  return {
      {.name = "gemma",
       .model_type = "gemma",
       .class_name = "GemmaForCausalLM",
       .members = R"({"hidden_act": "gelu_pytorch_tanh"})"},
      {.name = "gemma2",
       .model_type = "gemma2",
       .class_name = "Gemma2ForCausalLM",
       .members = kActivation,
       .write = write_gemma2},
      {.name = "gemma3",
       .model_type = "gemma3_text",
       .class_name = "Gemma3ForCausalLM",
       .fields = {{"final_logit_softcapping", "final_logit_softcapping"}},
       .members = kActivation,
       .write = write_gemma3},
      {.name = "gemma-embedding",
       .model_type = "gemma3_text",
       .class_name = "Gemma3TextModel",
       .members =
           R"({"hidden_activation": "gelu_pytorch_tanh", "use_bidirectional_attention": true})",
       .write = write_embedding_gemma,
       .encodes = true},
      {.name = "gemma3n",
       .model_type = "gemma3n_text",
       .class_name = "Gemma3nForCausalLM",
       .fields = {{"altup_active_idx", "altup.active_idx"},
                  {"altup_num_inputs", "altup.num_inputs"},
                  {"laurel_rank", "rows:laurel_l"},
                  {"hidden_size_per_layer_input", "embedding_length_per_layer_input"},
                  {"num_kv_shared_layers", "attention.shared_kv_layers"},
                  {"rope_local_base_freq", "rope.freq_base_swa"},
                  {"final_logit_softcapping", "final_logit_softcapping"}},
       .members = kActivation,
       .write = write_gemma3n,
       .varies = true},
      {.name = "gemma4",
       .model_type = "gemma4_text",
       .class_name = "Gemma4ForCausalLM",
       .fields = {{"final_logit_softcapping", "final_logit_softcapping"},
                  {"attention_bias", "has:attn_q.bias"}},
       .members = kActivation,
       .write = write_gemma4,
       .varies = true},
  };
}

}  // namespace pippin::models
