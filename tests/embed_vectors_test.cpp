// Sparse and token vectors, their scores, and packages of such models, on golden encoders with a
// tokenizer whose words are ids.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/app/convert/convert.h"
#include "pippin/app/text_encoder.h"
#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "tests/vector_models.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using testing_models::expect_near;
using testing_models::kGoldenVocabulary;
using testing_models::Late;
using testing_models::Splade;
using testing_models::VectorModel;

app::TextEncoder open(const std::string& path) {
  app::ModelChoice choice;
  choice.path = path;
  choice.load.threads = 1;
  return app::TextEncoder::open(choice);
}

std::string package_of(const VectorModel& model) {
  const fs::path package = model.folder() / "made.mlpackage";
  app::convert(model.folder(), package);
  return package.string();
}

std::vector<double> dense_of(const app::SparseVector& sparse) {
  std::vector<double> dense(kGoldenVocabulary);
  EXPECT_EQ(sparse.indices.size(), sparse.values.size());
  for (size_t i = 0; i < sparse.indices.size(); ++i) {
    dense.at(static_cast<size_t>(sparse.indices[i])) = sparse.values[i];
  }
  return dense;
}

TEST(EmbedVectors, SparseOnesArePooledLogits) {
  PIPPIN_SHARED_OR_SKIP(golden, "models2026/enc/xlm_roberta_mlm");
  const Splade splade(golden);
  const std::vector<std::string> texts = {splade.model.text(2), splade.model.text(0)};
  for (const bool sum : {false, true}) {
    for (const bool twice : {false, true}) {
      splade.pool(sum ? "sum" : "max", twice ? "log1p_relu" : "relu");
      const auto made = open(splade.model.path()).embed_sparse(texts);
      ASSERT_EQ(made.vectors.size(), 2u);
      expect_near(dense_of(made.vectors[0]), splade.expected(2, sum, twice), 2e-5);
      expect_near(dense_of(made.vectors[1]), splade.expected(0, sum, twice), 2e-5);
    }
  }
  splade.pool("max", "relu");
  const auto made = open(package_of(splade.model)).embed_sparse(texts);
  expect_near(dense_of(made.vectors[1]), splade.expected(0, false, false), 1e-2);
}

TEST(EmbedVectors, SparseOnesAreLimitedAndCompared) {
  PIPPIN_SHARED_OR_SKIP(golden, "models2026/enc/xlm_roberta_mlm");
  const Splade splade(golden);
  const auto encoder = open(splade.model.path());
  EXPECT_EQ(encoder.kind(), app::VectorKind::Sparse);
  std::vector<double> largest = splade.expected(0, false, false);
  std::sort(largest.rbegin(), largest.rend());
  largest.resize(5);
  const std::vector<std::string> texts = {splade.model.text(0)};
  const auto made = encoder.embed_sparse(texts, {.active = 5});
  std::vector<double> five(made.vectors[0].values.begin(), made.vectors[0].values.end());
  std::sort(five.rbegin(), five.rend());
  expect_near(five, largest, 2e-5);

  const auto a = splade.expected(0, false, false), b = splade.expected(1, false, false);
  double product = 0;
  for (size_t i = 0; i < kGoldenVocabulary; ++i) product += a[i] * b[i];
  const std::vector<std::string> documents = {splade.model.text(1)};
  EXPECT_NEAR(encoder.score(splade.model.text(0), documents).scores[0], product, 1e-3);
  EXPECT_ERROR(encoder.embed(texts), ErrorCode::Unsupported, "returns sparse vectors");
  EXPECT_ERROR(encoder.embed_tokens(texts), ErrorCode::Unsupported, "returns sparse vectors");
}

TEST(EmbedVectors, SparseModulesThatCannotBe) {
  PIPPIN_SHARED_OR_SKIP(golden, "models2026/enc/xlm_roberta_mlm");
  const Splade splade(golden);
  splade.pool("mean", "relu");
  EXPECT_ERROR(open(splade.model.path()), ErrorCode::Unsupported,
               "config.json: pooling_strategy: 'mean' is not supported");
  splade.pool("max", "gelu");
  EXPECT_ERROR(open(splade.model.path()), ErrorCode::Unsupported,
               "activation_function: 'gelu' is not supported");
}

// The vectors of a text.
std::vector<std::vector<double>> embed(const Late& late, const std::string& text,
                                       bool query = false, const std::string& path = "") {
  const std::vector<std::string> texts = {text};
  const auto made =
      open(path.empty() ? late.model.path() : path).embed_tokens(texts, {.is_query = query});
  const app::TokenVectors& vectors = made.vectors.at(0);
  std::vector<std::vector<double>> rows;
  for (size_t i = 0; i < vectors.count(); ++i) {
    const auto first = vectors.values.begin() + static_cast<int64_t>(i * vectors.width);
    rows.emplace_back(first, first + static_cast<int64_t>(vectors.width));
  }
  return rows;
}

void expect_rows(const std::vector<std::vector<double>>& a,
                 const std::vector<std::vector<double>>& b, double tolerance = 2e-5) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) expect_near(a[i], b[i], tolerance);
}

TEST(EmbedVectors, ThoseOfTokensAreProjectedStates) {
  PIPPIN_SHARED_OR_SKIP(golden, "models2026/enc/eurobert");
  const Late late(golden);
  for (const size_t row : {0, 1, 2}) {
    expect_rows(embed(late, late.model.text(row)), late.expected(row));
  }
  const std::string package = package_of(late.model);
  expect_rows(embed(late, late.model.text(1), false, package), late.expected(1), 1e-2);
  EXPECT_EQ(embed(late, "w5 w6", true, package).size(), 6u);
  const std::vector<std::string> texts = {"w3"};
  EXPECT_ERROR(open(package).embed(texts), ErrorCode::Unsupported,
               "returns a vector for each token");
}

TEST(EmbedVectors, QueriesAreFilledUp) {
  PIPPIN_SHARED_OR_SKIP(golden, "models2026/enc/eurobert");
  const Late late(golden);
  auto query = embed(late, "w5 w6", true);
  ASSERT_EQ(query.size(), 6u);
  query.resize(2);  // these do not see the other four
  expect_rows(query, embed(late, "w5 w6"));
  late.set(R"("skiplist_words": [], "attend_to_expansion_tokens": true)");
  expect_rows(embed(late, "w5 w6", true), embed(late, "w5 w6 w3 w3 w3 w3"));
  late.set(R"("skiplist_words": [], "do_query_expansion": false)");
  expect_rows(embed(late, "w5 w6", true), embed(late, "w5 w6"));
  expect_rows(embed(late, "w5 w6 w7 w8 w9 w10 w11", true), embed(late, "w5 w6 w7 w8 w9 w10"));
}

TEST(EmbedVectors, PrefixesAndSkippedTokens) {
  PIPPIN_SHARED_OR_SKIP(golden, "models2026/enc/eurobert");
  const Late late(golden);
  const auto plain = embed(late, "w5 w7 w6");
  late.set(R"("skiplist_words": ["w6"])");
  expect_rows(embed(late, "w5 w7 w6"), {plain[0], plain[1]});
  late.model.write("config_sentence_transformers.json",
                   R"({"query_prefix": "w8", "document_prefix": "w7", "query_length": 3,
                       "document_length": 3, "skiplist_words": []})");
  expect_rows(embed(late, "w5 w6"), plain);
  expect_rows(embed(late, "w5 w6 w9"), plain);
  late.model.write("config_sentence_transformers.json",
                   R"({"query_prefix": "[Q] ", "document_prefix": "w7", "skiplist_words": []})");
  EXPECT_ERROR(open(late.model.path()), ErrorCode::InvalidFile,
               "the tokenizer has no token '[Q] '");
}

TEST(EmbedVectors, ScoresAreTheSumsOfTheBest) {
  PIPPIN_SHARED_OR_SKIP(golden, "models2026/enc/eurobert");
  const Late late(golden);
  const auto query = embed(late, "w5 w6", true), document = embed(late, "w7 w8 w9");
  double expected = 0;
  for (const auto& asked : query) {
    double best = -2;
    for (const auto& found : document) {
      double product = 0;
      for (size_t i = 0; i < asked.size(); ++i) product += asked[i] * found[i];
      best = std::max(best, product);
    }
    expected += best;
  }
  const std::vector<std::string> documents = {"w7 w8 w9"};
  EXPECT_NEAR(open(late.model.path()).score("w5 w6", documents).scores[0], expected, 1e-4);
}

// Modules of sentence-transformers 5.5 and later.
TEST(EmbedVectors, MultiVectorEncoder) {
  PIPPIN_SHARED_OR_SKIP(golden, "models2026/enc/eurobert");
  const Late late(golden);
  const auto plain = embed(late, "w5 w6 w7");
  late.model.write("modules.json", R"([
      {"idx": 0, "path": "", "type": "sentence_transformers.base.modules.Transformer"},
      {"idx": 1, "path": "1_Dense", "type": "sentence_transformers.base.modules.Dense"},
      {"idx": 2, "path": "2_Normalize", "type": "sentence_transformers.base.modules.Normalize"},
      {"idx": 3, "path": "3_MultiVectorMask",
       "type": "sentence_transformers.multi_vector_encoder.modules.MultiVectorMask"}])");
  late.model.write("1_Dense/config.json",
                   R"({"in_features": 32, "out_features": 8, "bias": false,
                       "activation_function": "torch.nn.modules.linear.Identity",
                       "module_input_name": "token_embeddings"})");
  late.model.write("2_Normalize/config.json", R"({"module_input_name": "token_embeddings"})");
  late.model.write("3_MultiVectorMask/config.json",
                   R"({"skiplist_words": ["w6"], "skiplist_tasks": ["document"]})");
  late.model.write("config_sentence_transformers.json",
                   R"({"model_type": "MultiVectorEncoder", "prompts": {"query": "w9 "},
                       "similarity_fn_name": "maxsim"})");
  late.model.write("sentence_bert_config.json",
                   R"({"max_seq_length": 40, "document_length": 20, "query_expansion":
                       {"strategy": "min", "attend": false, "token": null, "length": 5}})");
  expect_rows(embed(late, "w5 w6 w7"), {plain[0], plain[2]});
  EXPECT_EQ(embed(late, "w5 w6", true).size(), 5u);  // w9, two, and two masks
  EXPECT_EQ(embed(late, "w1 w2 w4 w5 w6 w7", true).size(), 7u);
}

}  // namespace
}  // namespace pippin
