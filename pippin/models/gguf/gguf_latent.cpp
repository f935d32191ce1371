// DeepSeek's lineage: latent attention.
#include <fmt/format.h>

#include "pippin/models/gguf/gguf_architectures.h"

namespace pippin::models {
namespace {

// The length of a head's value. Where the metadata lacks it, it follows from the output's columns.
int64_t value_size(const GgufConfig& config, bool absorbed) {
  const GgufKeys& keys = config.keys();
  if (absorbed) return keys.required_size("attention.value_length_mla");
  const GgufTensor* const output = config.find_in_blocks("attn_output.weight");
  if (keys.has_key("attention.value_length") || output == nullptr) {
    return keys.required_size("attention.value_length");
  }
  const int64_t heads = keys.required_size("attention.head_count");
  const int64_t columns = output->shape.back();
  if (heads < 1 || columns % heads != 0) {
    keys.metadata().invalid(
        keys.full("attention.head_count"),
        fmt::format("{} does not divide the {} columns of {}", heads, columns, output->name));
  }
  return columns / heads;
}

void write_latent(GgufConfig& config) {
  const GgufKeys& keys = config.keys();
  const int64_t turned = keys.required_size("rope.dimension_count");
  const bool absorbed = keys.has_key("attention.key_length_mla");
  const int64_t key =
      keys.required_size(absorbed ? "attention.key_length_mla" : "attention.key_length");
  if (key <= turned) {
    keys.metadata().invalid(keys.full("rope.dimension_count"), "is not below the length of a key");
  }
  config.set("qk_rope_head_dim", turned);
  config.set("qk_nope_head_dim", key - turned);
  config.set("v_head_dim", value_size(config, absorbed));
  config.set("kv_lora_rank", keys.required_size("attention.kv_lora_rank"));
  if (const auto rank = keys.size("attention.q_lora_rank"); rank.value_or(0) > 0) {
    config.set("q_lora_rank", *rank);
  } else {
    config.set_json("q_lora_rank", "null");
  }
  config.set("num_key_value_heads", keys.required_size("attention.head_count"));
  config.erase("head_dim");
  config.erase("partial_rotary_factor");
}

void write_deepseek2(GgufConfig& config) {
  write_latent(config);
  const bool grouped = config.keys().size("expert_group_count").value_or(1) > 1;
  config.set("topk_method", grouped ? "group_limited_greedy" : "greedy");
}

void write_mistral4(GgufConfig& config) {
  write_latent(config);
  config.write_plain_rope();
}

// llama.cpp's constants.
void write_minicpm3(GgufConfig& config) {
  write_latent(config);
  config.set("scale_emb", 12);
  config.set("scale_depth", 1.4);
  config.set("dim_model_base", 256);
}

void write_glm_dsa(GgufConfig& config) {
  write_latent(config);
  if (config.keys().has_key("attention.indexer.types")) {
    config.set_kinds("indexer_types", config.by_layer("attention.indexer.types"), "full", "shared");
  }
}

}  // namespace

std::vector<GgufArchitecture> gguf_latent_architectures() {
  const std::vector<GgufField> experts = {{"n_routed_experts", "expert_count"},
                                          {"n_shared_experts", "expert_shared_count"},
                                          {"n_group", "expert_group_count"},
                                          {"topk_group", "expert_group_used_count"},
                                          {"moe_intermediate_size", "rows:ffn_up_exps"},
                                          {"norm_topk_prob", "expert_weights_norm"},
                                          {"routed_scaling_factor", "expert_weights_scale"},
                                          {"first_k_dense_replace", "leading:ffn_gate_inp"}};
  std::vector<GgufField> stacked = experts;  // gate and up are one tensor
  stacked.push_back({"moe_intermediate_size", "expert_feed_forward_length"});
  std::vector<GgufField> indexed = experts;
  for (const GgufField& field : {GgufField{"index_n_heads", "attention.indexer.head_count"},
                                 GgufField{"index_head_dim", "attention.indexer.key_length"},
                                 GgufField{"index_topk", "attention.indexer.top_k"}}) {
    indexed.push_back(field);
  }
  return {
      {.name = "deepseek2",
       .model_type = "deepseek_v3",
       .class_name = "DeepseekV3ForCausalLM",
       .fields = experts,
       .write = write_latent,
       .when = "has:exp_probs_b"},
      {.name = "deepseek2",
       .model_type = "deepseek_v2",
       .class_name = "DeepseekV2ForCausalLM",
       .fields = experts,
       .write = write_deepseek2,
       .when = "has:ffn_gate_inp"},
      {.name = "deepseek2",
       .model_type = "youtu",
       .class_name = "YoutuForCausalLM",
       .write = write_latent},
      {.name = "minicpm3",
       .model_type = "minicpm3",
       .class_name = "MiniCPM3ForCausalLM",
       .write = write_minicpm3},
      {.name = "mistral4",
       .model_type = "mistral4",
       .class_name = "Mistral4ForCausalLM",
       .fields = stacked,
       .write = write_mistral4},
      {.name = "deepseek32",
       .model_type = "deepseek_v32",
       .class_name = "DeepseekV32ForCausalLM",
       .fields = indexed,
       .write = write_latent},
      {.name = "glm-dsa",
       .model_type = "glm_moe_dsa",
       .class_name = "GlmMoeDsaForCausalLM",
       .fields = indexed,
       .write = write_glm_dsa},
  };
}

}  // namespace pippin::models
