// pippin embed, rerank and convert with encoders, on the golden models with a tokenizer whose words
// are ids.
#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/json.h"
#include "tests/golden_texts.h"
#include "tests/process.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

using testing_models::expect_near;

// A copy of a golden model in its own folder, with its texts.
class GoldenModel : public testing_models::GoldenTexts {
 public:
  explicit GoldenModel(const fs::path& golden) : GoldenTexts(golden) {
    testing_models::copy_golden(golden, folder_.path());
  }
  std::string path() const { return folder_.path().string(); }
  fs::path operator/(const std::string& name) const { return folder_.path() / name; }

 private:
  TempDir folder_;
};

std::vector<double> line_of(const std::string& out, size_t number) {
  size_t begin = 0;
  for (size_t i = 0; i < number; ++i) begin = out.find('\n', begin) + 1;
  return Json::parse(out.substr(begin, out.find('\n', begin) - begin), "line").as_floats();
}

TEST(Embed, TextsOfAFolder) {
  PIPPIN_SHARED_OR_SKIP(golden, "architectures2/bert_mean");
  const GoldenModel model(golden);
  const auto result =
      run_pippin({"embed", model.path(), model.text(2), model.text(0), model.text(1)});
  ASSERT_EQ(result.status, 0) << result.err;
  expect_near(line_of(result.out, 0), model.numbers("sentence_embedding", 2), 1e-5);
  expect_near(line_of(result.out, 1), model.numbers("sentence_embedding", 0), 1e-5);
  expect_near(line_of(result.out, 2), model.numbers("sentence_embedding", 1), 1e-5);

  const auto shorter = run_pippin({"embed", model.path(), "w5 w6", "--dimensions", "4", "--json"});
  const Json json = Json::parse(shorter.out, "answer");
  double length = 0;
  for (const double x : json.at("embeddings").at(size_t{0}).as_floats()) length += x * x;
  EXPECT_EQ(json.at("embeddings").at(size_t{0}).size(), 4u);
  EXPECT_NEAR(length, 1, 1e-5);
  EXPECT_EQ(json.get_int("tokens"), 2);
}

TEST(Embed, PromptsAndLongTexts) {
  PIPPIN_SHARED_OR_SKIP(golden, "architectures2/bert_mean");
  const GoldenModel model(golden);
  write_file(model / "config_sentence_transformers.json",
             R"({"prompts": {"query": "w9 w8 "}, "default_prompt_name": "query"})");
  const auto prompted = run_pippin({"embed", model.path(), "w3", "--prompt-name", "query"});
  EXPECT_EQ(prompted.out, run_pippin({"embed", model.path(), "w3"}).out);
  EXPECT_EQ(prompted.out, run_pippin({"embed", model.path(), "w9 w8 w3", "--prompt-name", ""}).out);
  const auto unknown = run_pippin({"embed", model.path(), "w3", "--prompt-name", "passage"});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_EQ(unknown.err, "pippin: error: unknown prompt \"passage\" (the model has query)\n");

  std::string cut, whole;
  for (int i = 0; i < 70; ++i) {
    if (i < 64) cut += "w" + std::to_string(i) + " ";
    whole += "w" + std::to_string(i) + " ";
  }
  const auto all = run_pippin({"embed", model.path(), whole, "--prompt-name", ""});
  EXPECT_EQ(all.out, run_pippin({"embed", model.path(), cut, "--prompt-name", ""}).out);
  EXPECT_EQ(all.err, "pippin: 1 of the texts had more than 64 tokens and were cut\n");
  const auto refused =
      run_pippin({"embed", model.path(), "w1", whole, "--prompt-name", "", "--refuse-long"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_EQ(refused.err, "pippin: error: text 1 has 70 tokens, the model takes 64\n");
}

TEST(Embed, WhatCannotBe) {
  PIPPIN_SHARED_OR_SKIP(golden, "architectures2/bert_mean");
  const GoldenModel model(golden);
  EXPECT_EQ(run_pippin({"embed", model.path(), "", "w1"}).err,
            "pippin: error: text 0 is empty: it has no tokens\n");
  const auto run = run_pippin({"run", model.path(), "w1"});
  EXPECT_EQ(run.status, 3);
  EXPECT_NE(run.err.find(": embeds or scores texts and writes none: `pippin embed`"),
            std::string::npos)
      << run.err;
  EXPECT_NE(run_pippin({"embed", model.path(), "w1", "--dimensions", "33"})
                .err.find("33 dimensions: the model's embeddings have 32"),
            std::string::npos);
  write_file(model / "1_Pooling/config.json", R"({"pooling_mode_attention": true})");
  const auto pooling = run_pippin({"embed", model.path(), "w1"});
  EXPECT_EQ(pooling.status, 3);
  EXPECT_NE(
      pooling.err.find(
          "1_Pooling/config.json: pooling_mode_attention: this pooling mode is not supported"),
      std::string::npos)
      << pooling.err;
  write_file(model / "modules.json", R"([{"type": "x.models.Transformer", "path": ""},
      {"type": "x.models.CNN", "path": "1_CNN"}])");
  EXPECT_NE(run_pippin({"embed", model.path(), "w1"}).err.find("'CNN'"), std::string::npos);
  write_file(model / "modules.json", R"([{"type": "x.models.Pooling", "path": "../elsewhere"}])");
  EXPECT_NE(run_pippin({"embed", model.path(), "w1"}).err.find("is not a folder of the model"),
            std::string::npos);
}

TEST(Embed, APackageIsTheFolder) {
  PIPPIN_SHARED_OR_SKIP(golden, "architectures2/gemma3_embed");
  const GoldenModel model(golden);
  const std::string package = (model / "x.mlpackage").string();
  const auto converted = run_pippin({"convert", model.path(), "-o", package});
  ASSERT_EQ(converted.status, 0) << converted.err;
  const auto result = run_pippin({"embed", package, model.text(0), "--prompt-name", ""});
  ASSERT_EQ(result.status, 0) << result.err;
  expect_near(line_of(result.out, 0), model.numbers("sentence_embedding", 0), 3e-3);
  // Prompts are part of the package.
  EXPECT_NE(run_pippin({"embed", package, "w1", "--prompt-name", "none"}).err.find("query"),
            std::string::npos);
}

TEST(Rerank, OrdersDocuments) {
  PIPPIN_SHARED_OR_SKIP(golden, "architectures2/bert_cross");
  const GoldenModel model(golden);
  const auto result = run_pippin({"rerank", model.path(), model.text(1, 0), model.text(0, 1),
                                  model.text(1, 1), model.text(2, 1), "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  double before = 2, found = -1;
  for (const Json& one : Json::parse(result.out, "answer").at("results").elements()) {
    const double score = one.get_float("relevance_score");
    EXPECT_LE(score, before);
    before = score;
    if (one.get_int("index") == 1) found = score;
  }
  EXPECT_NEAR(found, model.numbers("scores", 1).front(), 1e-5);
  const auto wrong = run_pippin({"embed", model.path(), "w1"});
  EXPECT_EQ(wrong.status, 3);
  EXPECT_NE(wrong.err.find("is a cross-encoder"), std::string::npos);
}

}  // namespace
}  // namespace pippin
