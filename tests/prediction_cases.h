// Models with a multi-token prediction layer, and what the layer expects.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "pippin/models/registry.h"
#include "pippin/runtime/open/loaded_model.h"
#include "pippin/runtime/sequence.h"
#include "tests/prediction_testing.h"

namespace pippin::testing_models {

inline constexpr int64_t kWidth = 16, kVocabulary = 40;

// Configurations with two layers, the last of which has attention.
struct Case {
  const char* name;
  const char* config;
  bool is_qwen;
  bool has_recurrence = false;
};

inline void PrintTo(const Case& given, std::ostream* out) {
  *out << given.name;
}

inline const Case kCases[] = {
    {"qwen3_5",
     R"("model_type": "qwen3_5_text", "num_key_value_heads": 2, "head_dim": 8,
        "mtp_num_hidden_layers": 1, "layer_types": ["full_attention", "full_attention"])",
     true},
    {"qwen3_5_hybrid",
     R"("model_type": "qwen3_5_text", "num_key_value_heads": 2, "head_dim": 8,
        "mtp_num_hidden_layers": 1, "layer_types": ["linear_attention", "full_attention"],
        "linear_num_key_heads": 2, "linear_key_head_dim": 4, "linear_num_value_heads": 4,
        "linear_value_head_dim": 6)",
     true, true},
    {"qwen3_5_moe",
     R"("model_type": "qwen3_5_moe_text", "num_key_value_heads": 2, "head_dim": 8,
        "mtp_num_hidden_layers": 1, "layer_types": ["linear_attention", "full_attention"],
        "linear_num_key_heads": 2, "linear_key_head_dim": 4, "linear_num_value_heads": 4,
        "linear_value_head_dim": 6, "num_experts": 4, "num_experts_per_tok": 2,
        "moe_intermediate_size": 8, "shared_expert_intermediate_size": 8)",
     true, true},
    {"deepseek_v3",
     R"("model_type": "deepseek_v3", "num_nextn_predict_layers": 1, "first_k_dense_replace": 1,
        "q_lora_rank": 12, "kv_lora_rank": 8, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4,
        "v_head_dim": 6, "n_routed_experts": 4, "n_group": 2, "topk_group": 1,
        "num_experts_per_tok": 2, "moe_intermediate_size": 8, "n_shared_experts": 1)",
     false},
    {"glm4_moe",
     R"("model_type": "glm4_moe", "num_nextn_predict_layers": 1, "first_k_dense_replace": 1,
        "num_key_value_heads": 2, "head_dim": 8, "n_routed_experts": 4, "n_group": 1,
        "topk_group": 1, "num_experts_per_tok": 2, "moe_intermediate_size": 8,
        "n_shared_experts": 1, "use_qk_norm": true)",
     false},
};

inline std::string config_of(const Case& given) {
  return std::string(R"({"vocab_size": 40, "hidden_size": 16, "intermediate_size": 24,
      "num_hidden_layers": 2, "num_attention_heads": 4, )") +
         given.config + "}";
}

inline void write_case(const std::filesystem::path& folder, const Case& given,
                       const ValuesOf& values = models::made_weights) {
  write_predicting_model(folder, config_of(given), 1,
                         given.is_qwen ? qwen_form(kWidth) : deepseek_form(kWidth, 2), values);
}

inline mil::Model build(
    const std::filesystem::path& folder,
    models::BuildOptions::Compute compute = models::BuildOptions::Compute::Float32Direct) {
  return models::build(folder, {.context = 48, .prediction = true, .compute = compute});
}

inline std::shared_ptr<runtime::Model> load(const std::filesystem::path& folder,
                                            runtime::LoadOptions options = {}) {
  options.threads = 1;
  return runtime::make_runnable(build(folder), options).model;
}

// The tokens that the layer expects after `next`, one after another.
inline std::vector<runtime::PredictedToken> chain(runtime::Sequence& sequence, int32_t next,
                                                  size_t count) {
  std::vector<runtime::PredictedToken> result;
  std::vector<int32_t> ids = {next};
  while (result.size() < count) {
    const auto predicted = sequence.predict(ids);
    if (!predicted) break;
    result.push_back(*predicted);
    ids.push_back(predicted->id);
  }
  return result;
}

}  // namespace pippin::testing_models
