// Quantized caches: their size, the models that have them, and how close their logits are to those
// of fp16. The kernels' own tests compare values exactly.

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/models/models_testing.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/open/loaded_model.h"
#include "pippin/runtime/sequence.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using engine::CacheType;
using engine::Precision;
using Ids = std::vector<int32_t>;
using Row = std::vector<float>;

std::shared_ptr<runtime::Model> open(const fs::path& folder, CacheType type,
                                     Precision precision = Precision::Exact, int64_t context = 80) {
  runtime::LoadOptions options;
  options.threads = 2;
  options.cache_type = type;
  options.compute.precision = precision;
  return runtime::make_runnable(models::build(folder, {.context = context}), options).model;
}

fs::path random_model(const TempDir& folder, const std::string& config) {
  models::write_random_model(folder.path(), R"({"vocab_size": 60, "hidden_size": 64,
      "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4, )" +
                                                config + "}");
  return folder.path();
}

Ids ids_of(const runtime::Model& model, int32_t count) {
  Ids ids;
  for (int32_t i = 0; i < count; ++i) {
    ids.push_back(static_cast<int32_t>((i * i * 7 + 3 * i + 1) % model.vocab_size()));
  }
  return ids;
}

// The logits of a prompt's last token, and of tokens after it one by one.
std::vector<Row> rows_of(runtime::Model& model) {
  const auto sequence = model.new_sequence();
  const Ids ids = ids_of(model, 60);
  std::vector<Row> rows;
  const auto keep = [&](std::span<const float> row) { rows.emplace_back(row.begin(), row.end()); };
  keep(sequence->prefill(std::span(ids).first(45)));
  for (size_t i = 45; i < ids.size(); ++i) keep(sequence->decode(ids[i]));
  return rows;
}

// The largest difference of the rows, in units of the first ones' standard deviation.
double difference(const std::vector<Row>& a, const std::vector<Row>& b) {
  double most = 0;
  for (size_t r = 0; r < a.size(); ++r) {
    double sum = 0, squares = 0, largest = 0;
    for (size_t i = 0; i < a[r].size(); ++i) {
      sum += double{a[r][i]};
      squares += double{a[r][i]} * double{a[r][i]};
      largest = std::max(largest, std::fabs(double{a[r][i]} - double{b[r][i]}));
    }
    const auto count = static_cast<double>(a[r].size());
    most = std::max(most, largest / std::sqrt(squares / count - sum * sum / count / count));
  }
  return most;
}

TEST(CacheTypes, TakeTheirBitsPerValue) {
  const auto row_bytes = [](CacheType type) {
    return open(demo_model_folder(), type)->new_sequence()->row_layout().row_bytes();
  };
  const uint64_t values = uint64_t{6} * 2 * 2 * 32;  // layers, keys and values, heads, values
  EXPECT_EQ(row_bytes(CacheType::F16), values * 2);
  // A scale of two bytes for each head of 32 values.
  EXPECT_EQ(row_bytes(CacheType::Q8), values + values / 32 * 2);
  EXPECT_EQ(row_bytes(CacheType::Q4), values / 2 + values / 32 * 2);
}

TEST(CacheTypes, OfTheDemoModelAreClose) {
  const auto plain = rows_of(*open(demo_model_folder(), CacheType::F16));
  for (const Precision precision : {Precision::Exact, Precision::Fast}) {
    const auto q8 = rows_of(*open(demo_model_folder(), CacheType::Q8, precision));
    const auto q4 = rows_of(*open(demo_model_folder(), CacheType::Q4, precision));
    EXPECT_GT(difference(plain, q8), 0);
    EXPECT_LT(difference(plain, q8), 0.25);
    EXPECT_GT(difference(plain, q4), difference(plain, q8));
    EXPECT_LT(difference(plain, q4), 2.5);
  }
}

// Heads in groups, norms of queries and keys, windows, caps of scores, states of recurrences.
TEST(CacheTypes, OfFamilies) {
  const char* const configs[] = {
      R"("model_type": "qwen3", "num_key_value_heads": 2, "head_dim": 64)",
      R"("model_type": "gemma2", "num_key_value_heads": 2, "head_dim": 32, "sliding_window": 16,
         "attn_logit_softcapping": 20.0)",
      R"("model_type": "gemma3_text", "num_key_value_heads": 1, "head_dim": 128,
         "sliding_window": 16, "sliding_window_pattern": 2)",
      R"("model_type": "lfm2", "num_key_value_heads": 2, "full_attn_idxs": [1])",
      R"("model_type": "llama", "num_key_value_heads": 4, "head_dim": 80)",
  };
  for (const char* const config : configs) {
    SCOPED_TRACE(config);
    const TempDir folder;
    const fs::path path = random_model(folder, config);
    const auto plain = rows_of(*open(path, CacheType::F16));
    EXPECT_LT(difference(plain, rows_of(*open(path, CacheType::Q8))), 0.1);
    EXPECT_LT(difference(plain, rows_of(*open(path, CacheType::Q8, Precision::Fast))), 0.1);
    EXPECT_LT(difference(plain, rows_of(*open(path, CacheType::Q4))), 1);
  }
}

TEST(CacheTypes, RefuseModelsWithoutSuchACache) {
  const TempDir folder;
  const fs::path mamba =
      random_model(folder, R"("model_type": "mamba2", "num_heads": 4, "head_dim": 32, "n_groups": 2,
                 "state_size": 6)");
  EXPECT_ERROR(open(mamba, CacheType::Q8), ErrorCode::Unsupported,
               "cache type q8: attention reads no state of function 'main', only f16 is supported");
  EXPECT_ERROR(open(demo_model_folder(), CacheType::Q4, Precision::Reference),
               ErrorCode::Unsupported, "cache type q4: attention reads no state");
}

TEST(CacheTypes, OfSavedSequencesAreThoseOfTheModel) {
  const TempDir folder;
  const fs::path file = folder / "saved";
  const auto q8 = open(demo_model_folder(), CacheType::Q8);
  const Ids ids = ids_of(*q8, 12);
  const auto saved = q8->new_sequence();
  saved->prefill(ids);
  saved->save(file);
  const auto restored = q8->new_sequence();
  restored->restore(file);
  const auto want = saved->decode(5), have = restored->decode(5);
  EXPECT_TRUE(std::equal(want.begin(), want.end(), have.begin(), have.end()));
  for (const CacheType type : {CacheType::F16, CacheType::Q4}) {
    const auto other = open(demo_model_folder(), type)->new_sequence();
    EXPECT_ERROR(other->restore(file), ErrorCode::InvalidFile,
                 "its array 'keyCache (q8)' does not fit the model's 'keyCache");
    EXPECT_EQ(other->position(), 0);
  }
}

}  // namespace
}  // namespace pippin
