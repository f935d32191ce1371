#include "pippin/app/facts/model_cost.h"

#include <gtest/gtest.h>

#include "pippin/app/convert/convert.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;
using runtime::BenchmarkCase;

// 2 layers of 64 columns, 4 heads of 16 with 2 for keys, 96 in the middle, 50 tokens.
constexpr const char* kConfig = R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"],
  "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
  "num_key_value_heads": 2, "vocab_size": 50, "max_position_embeddings": 32,
  "rms_norm_eps": 1e-5, "tie_word_embeddings": false})";
constexpr int64_t kLayer = 64 * 64 * 2 + 64 * 32 * 2 + 3 * 64 * 96, kHead = 50 * 64;
constexpr int64_t kMultiplied = 2 * kLayer + kHead;

ModelCost cost_of(const fs::path& path) {
  const ModelChoice choice = {path.string(), "", {.threads = 1}};
  return model_cost(open_runnable(choice), choice);
}

TEST(ModelCost, OfAToken) {
  const TempDir folder;
  write_file(folder / "config.json", kConfig);
  const fs::path half = folder / "half.mlpackage", int4 = folder / "int4.mlpackage";
  ConvertOptions options;
  options.random_weights = true;
  convert(folder / "config.json", half, options);
  const ModelCost cost = cost_of(half);
  EXPECT_EQ(cost.multiplied, kMultiplied);
  // The embedding table is not read completely; norms are small.
  EXPECT_GE(cost.weight_bytes, 2u * kMultiplied);
  EXPECT_LT(cost.weight_bytes, 2u * (kMultiplied + 10 * 64));
  EXPECT_GE(cost.parameters, kMultiplied + kHead);
  // 2 layers of keys and values of 32 tokens, 2 heads of 16, fp16.
  uint64_t cache = 0;
  for (const auto& one : cost.caches) cache += one.bytes;
  EXPECT_EQ(cache, 2u * 2 * 32 * 2 * 16 * 2);
  const auto read = [&](int64_t tokens, int64_t depth) {
    return cost.of({BenchmarkCase::Kind::Decode, tokens, depth, {}}).bytes -
           static_cast<double>(cost.weight_bytes);
  };
  const double per_token = static_cast<double>(cache) / 32;
  EXPECT_DOUBLE_EQ(read(1, 0), per_token);
  EXPECT_DOUBLE_EQ(read(3, 10), 12 * per_token);
  EXPECT_DOUBLE_EQ(read(100, 100), 32 * per_token);

  ModelChoice quantized = {half.string(), "", {.threads = 1}};
  quantized.load.cache_type = engine::CacheType::Q8;
  const ModelCost with_q8 = model_cost(open_runnable(quantized), quantized);
  EXPECT_EQ(with_q8.caches.size(), cost.caches.size());
  EXPECT_EQ(with_q8.caches[0].bytes * 64, cost.caches[0].bytes * 33);

  // Only the last token of a prompt needs the head.
  EXPECT_EQ(cost.multiplied_for_logits, kHead);
  EXPECT_DOUBLE_EQ(cost.of({BenchmarkCase::Kind::Prefill, 10, 0, {}}).operations,
                   2.0 * (2 * kLayer + kHead / 10.0));
  EXPECT_DOUBLE_EQ(cost.of({BenchmarkCase::Kind::Decode, 10, 0, {}}).operations, 2.0 * kMultiplied);

  options.compression.quantize = "int4";
  options.compression.min_elements = 1;
  convert(folder / "config.json", int4, options);
  const ModelCost small = cost_of(int4);
  EXPECT_EQ(small.multiplied, kMultiplied);
  EXPECT_EQ(small.parameters, cost.parameters);
  EXPECT_LT(small.weight_bytes, cost.weight_bytes / 3);
  EXPECT_GT(small.weight_bytes, static_cast<uint64_t>(kMultiplied) / 2);
}

// A token uses 2 of 8 experts, whether a function gathers them or multiplies all.
TEST(ModelCost, ExpertsCountAsFarAsTheyAreChosen) {
  const TempDir folder;
  write_file(folder / "config.json", R"({"model_type": "qwen3_moe", "vocab_size": 128,
      "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 16,
      "num_key_value_heads": 2, "max_position_embeddings": 32, "num_experts": 8,
      "num_experts_per_tok": 2, "moe_intermediate_size": 32})");
  constexpr int64_t kExperts = 2 * 8 * 3 * 32 * 64;
  constexpr int64_t kOthers = 2 * (2 * 64 * 64 + 2 * 32 * 64 + 8 * 64) + 128 * 64;
  for (const std::vector<int64_t>& lengths : {std::vector<int64_t>{}, std::vector<int64_t>{1}}) {
    for (const char* form : {"", "int4"}) {
      SCOPED_TRACE(testing::Message() << lengths.size() << form);
      ConvertOptions options;
      options.random_weights = true;
      options.query_lengths = lengths;
      options.compression.quantize = form;
      options.compression.min_elements = 1;
      const fs::path path = folder / ("a" + std::to_string(lengths.size()) + form + ".mlpackage");
      convert(folder / "config.json", path, options);
      const ModelCost cost = cost_of(path);
      EXPECT_EQ(cost.multiplied, kOthers + kExperts / 4);
      uint64_t experts = 0;
      for (const auto& one : cost.experts) {
        EXPECT_DOUBLE_EQ(one.share, 0.25);
        experts += one.bytes;
      }
      const uint64_t bytes = *form == 0 ? 2u * kExperts : kExperts / 2 + kExperts / 16;
      EXPECT_EQ(experts, bytes);
      BenchmarkCase several{BenchmarkCase::Kind::Decode, 1, 0, {}};
      const double alone = cost.of(several).bytes;
      several.parallel = 2;
      // Two tokens choose 8 * (1 - 0.75^2) = 3.5 experts on average.
      const double plain = static_cast<double>(cost.weight_bytes) - static_cast<double>(bytes) / 4;
      const double caches = alone - static_cast<double>(cost.weight_bytes);
      EXPECT_NEAR(cost.of(several).bytes,
                  (plain + static_cast<double>(bytes) * 3.5 / 8) / 2 + caches, 1e-6 * alone);
    }
  }
}

TEST(ModelCost, IsThatOfAllFamilies) {
  const TempDir folder;
  write_file(folder / "config.json", kConfig);
  ConvertOptions anemll;
  anemll.random_weights = true;
  anemll.family = "anemll";
  anemll.chunks = 2;
  anemll.batch = 8;
  convert(folder / "config.json", folder / "anemll", anemll);
  ConvertOptions windowed;
  windowed.random_weights = true;
  windowed.family = "windowed";
  windowed.window = 8;
  windowed.cache = 24;
  windowed.blocks_per_chunk = 1;
  convert(folder / "config.json", folder / "windowed", windowed);
  for (const char* name : {"anemll", "windowed"}) {
    SCOPED_TRACE(name);
    const ModelCost cost = cost_of(folder / name);
    EXPECT_EQ(cost.multiplied, kMultiplied);
    EXPECT_EQ(cost.multiplied_for_logits, kHead);
    EXPECT_GE(cost.weight_bytes, 2u * kMultiplied);
    EXPECT_LT(cost.weight_bytes, 2u * (kMultiplied + 20 * 64));
    EXPECT_FALSE(cost.caches.empty());
  }
}

}  // namespace
}  // namespace pippin::app
