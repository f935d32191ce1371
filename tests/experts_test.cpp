// Mixtures of experts in packages with random weights: compares the engine's step, which computes
// only the chosen experts, with a separate evaluation of every operation.
#include <cmath>
#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/app/convert/convert.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/plan.h"
#include "pippin/mil/package/package.h"
#include "pippin/runtime/sequence.h"
#include "pippin/runtime/stateful/model.h"
#include "tests/golden_testing.h"
#include "tests/reference_logits.h"
#include "tests/rows_together_testing.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSizes = R"("vocab_size": 96, "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
    "max_position_embeddings": 64, "intermediate_size": 64,)";

struct Mixture {
  const char *name, *config;
};
void PrintTo(const Mixture& mixture, std::ostream* out) {
  *out << mixture.name;
}
constexpr Mixture kMixtures[] = {
    {"softmax", R"("model_type": "qwen3_moe", "num_experts": 8, "num_experts_per_tok": 3,
      "moe_intermediate_size": 32)"},
    {"groups", R"("model_type": "glm4_moe", "n_routed_experts": 8, "num_experts_per_tok": 3,
      "n_group": 4, "topk_group": 2, "moe_intermediate_size": 64, "first_k_dense_replace": 0)"},
    {"biases", R"("model_type": "gpt_oss", "num_local_experts": 4, "num_experts_per_tok": 2)"},
    {"weighted_input", R"("model_type": "llama4_text", "num_local_experts": 4,
      "intermediate_size_mlp": 64, "attention_chunk_size": 8)"},
    {"identities", R"("model_type": "longcat_flash", "num_layers": 1, "moe_topk": 3,
      "n_routed_experts": 5, "zero_expert_num": 3, "expert_ffn_hidden_size": 32,
      "q_lora_rank": 16, "kv_lora_rank": 32, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8,
      "v_head_dim": 16)"},
};

class Experts : public testing::TestWithParam<Mixture> {};

std::vector<float> logits_of(const mil::Model& model, std::span<const int32_t> prompt,
                             const engine::ComputeOptions& compute, bool together) {
  ThreadPool pool(2);
  const auto sequence =
      runtime::make_stateful_model(model, pool, {.compute = compute})->new_sequence();
  if (together) {
    testing_models::expect_equal_rows(*sequence, prompt.first(8), prompt.subspan(8));
    sequence->reset();
  }
  return sequence->all_logits(prompt);
}

double mean_difference(std::span<const float> a, std::span<const double> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::abs(double{a[i]} - b[i]);
  return sum / static_cast<double>(a.size());
}

TEST_P(Experts, TheStepComputesWhatTheOperationsDo) {
  std::vector<int32_t> prompt;
  for (int i = 0; i < 24; ++i) prompt.push_back(i * 37 % 96);
  const TempDir folder;
  write_file(folder / "config.json", std::string("{") + kSizes + GetParam().config + "}");
  for (const std::string form : {"", "int4", "int8", "lut4"}) {
    for (const std::vector<int64_t>& lengths : {std::vector<int64_t>{}, std::vector<int64_t>{1}}) {
      SCOPED_TRACE(form + (lengths.empty() ? "" : ", one token at a time"));
      app::ConvertOptions options;
      options.random_weights = true;
      options.query_lengths = lengths;
      if (form == "lut4") {
        options.compression.palettize = 4;
      } else {
        options.compression.quantize = form;
      }
      options.compression.min_elements = 1;
      const fs::path path = folder / (form + std::to_string(lengths.size()) + "a.mlpackage");
      app::convert(folder / "config.json", path, options);
      const mil::Model model = mil::read_package(path);
      const auto exact = engine::Precision::Exact;
      engine::PlanOptions plan;
      plan.compute.precision = exact;
      EXPECT_NE(engine::Plan::make(model, "main", plan)->describe().find("experts ("),
                std::string::npos);
      const auto want = logits_of(model, prompt, {.precision = exact, .fusion = false}, false);
      const std::vector<double> numbers(want.begin(), want.end());
      const double largest = testing_models::largest(numbers);
      // fp16 caches round the results of another order of additions, and weights are expanded to
      // fp16 if they are not multiplied in place.
      const auto step = logits_of(model, prompt, {.precision = exact}, lengths.empty());
      EXPECT_LE(max_difference(step, numbers), 1e-3 * largest);
      // Rounded activations may route a token to another expert.
      const auto fast = logits_of(model, prompt, {}, lengths.empty());
      EXPECT_LE(mean_difference(fast, numbers), (form.empty() ? 1e-4 : 0.04) * largest);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Mixtures, Experts, testing::ValuesIn(kMixtures),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace pippin
