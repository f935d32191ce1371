// pippin embed and rerank with models of other kinds: sparse vectors, vectors of tokens, static
// embeddings, and rerankers with chat templates, on golden models of the repository.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/image/picture.h"
#include "pippin/io/json.h"
#include "tests/image_encoder_folders.h"
#include "tests/process.h"
#include "tests/score_model.h"
#include "tests/vector_models.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

using testing_models::expect_near;
using testing_models::Late;
using testing_models::ScoreModel;
using testing_models::Splade;

constexpr const char* kSparse = "models2026/enc/bert_mlm";
constexpr const char* kTokens = "models2026/enc/data2vec_text";

// The error of a command that fails with this status.
std::string error_of(const std::vector<std::string>& arguments, int status) {
  const auto result = run_pippin(arguments);
  EXPECT_EQ(result.status, status) << result.err;
  EXPECT_EQ(result.out, "");
  return result.err;
}

Json json_of(const std::vector<std::string>& arguments) {
  const auto result = run_pippin(arguments);
  EXPECT_EQ(result.status, 0) << result.err;
  return Json::parse(result.out, "answer");
}

TEST(EmbedKinds, SparseVectors) {
  PIPPIN_SHARED_OR_SKIP(golden, kSparse);
  const Splade splade(golden);
  const std::string path = splade.model.path(), text = splade.model.text(2);
  const Json made = json_of({"embed", path, "--sparse", text});
  expect_near(testing_models::dense_of(made), splade.expected(2, false, false), 2e-5);

  const Json three = json_of({"embed", path, "--sparse", "--active", "3", "--json", text});
  EXPECT_EQ(three.get_int("tokens"), std::ssize(splade.model.ids(2)));
  auto largest = splade.expected(2, false, false);
  std::sort(largest.rbegin(), largest.rend());
  auto kept = three.at("embeddings").at(size_t{0}).at("values").as_floats();
  std::sort(kept.rbegin(), kept.rend());
  expect_near(kept, {largest[0], largest[1], largest[2]}, 2e-5);
}

TEST(EmbedKinds, VectorsOfTokens) {
  PIPPIN_SHARED_OR_SKIP(golden, kTokens);
  const Late late(golden);
  const std::string path = late.model.path();
  const auto expected = late.expected(2);
  const Json document = json_of({"embed", path, "--multi", late.model.text(2)});
  ASSERT_EQ(document.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    expect_near(document.at(i).as_floats(), expected[i], 2e-5);
  }
  // A query is padded to 6 tokens, which its own do not see.
  const Json query = json_of({"embed", path, "--multi", "--query", "w5 w6"});
  const Json plain = json_of({"embed", path, "--multi", "w5 w6"});
  EXPECT_EQ(query.size(), 6u);
  ASSERT_EQ(plain.size(), 2u);
  expect_near(query.at(size_t{1}).as_floats(), plain.at(size_t{1}).as_floats(), 2e-5);
}

TEST(EmbedKinds, OptionsOfOtherKindsAreRefused) {
  PIPPIN_SHARED_OR_SKIP(golden, kSparse);
  PIPPIN_SHARED_OR_SKIP(golden_tokens, kTokens);
  PIPPIN_SHARED_OR_SKIP(golden_dense, "architectures2/bert_mean");
  const Splade splade(golden);
  const Late late(golden_tokens);
  const testing_models::VectorModel dense(golden_dense);
  const auto refusal = [](const std::string& model, const std::vector<std::string>& options) {
    std::vector<std::string> arguments = {"embed", model, "w5"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return error_of(arguments, 3);
  };
  EXPECT_NE(refusal(splade.model.path(), {}).find("returns sparse vectors"), std::string::npos);
  EXPECT_NE(refusal(splade.model.path(), {"--multi"}).find("returns sparse vectors"),
            std::string::npos);
  EXPECT_NE(refusal(late.model.path(), {}).find("returns a vector for each token"),
            std::string::npos);
  EXPECT_NE(refusal(late.model.path(), {"--sparse"}).find("returns a vector for each token"),
            std::string::npos);
  for (const char* option : {"--sparse", "--multi"}) {
    EXPECT_NE(refusal(dense.path(), {option}).find("returns"), std::string::npos) << option;
  }
  const auto misuse = [&](const std::vector<std::string>& options) {
    std::vector<std::string> arguments = {"embed", splade.model.path(), "w5"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return error_of(arguments, 2);
  };
  EXPECT_NE(misuse({"--sparse", "--multi"}).find("--multi"), std::string::npos);
  EXPECT_NE(misuse({"--query"}).find("--multi"), std::string::npos);
  EXPECT_NE(misuse({"--active", "3"}).find("--sparse"), std::string::npos);
  EXPECT_NE(misuse({"--sparse", "--active", "0"}).find("--active"), std::string::npos);
  EXPECT_NE(misuse({"--sparse", "--dimensions", "3"}).find("--dimensions"), std::string::npos);
}

TEST(EmbedKinds, StaticEmbeddings) {
  const TempDir folder;
  const std::vector<float> table = testing_models::write_static_embedding(folder.path(), 12, 4);
  const Json made = json_of({"embed", folder.path().string(), "w3 w10"});
  std::vector<double> mean(4);
  for (size_t i = 0; i < 4; ++i) mean[i] = (table[3 * 4 + i] + table[10 * 4 + i]) / 2;
  expect_near(made.as_floats(), mean, 1e-6);
}

TEST(EmbedKinds, RerankersWithTemplates) {
  PIPPIN_SHARED_OR_SKIP(golden, "architectures/qwen3");
  const ScoreModel model(golden);
  const Json results =
      json_of({"rerank", model.path(), "--json", model.query(), model.document(), "w9"});
  double found = -1e9;
  for (const Json& one : results.at("results").elements()) {
    if (one.get_int("index") == 0) found = one.get_float("relevance_score");
  }
  EXPECT_NEAR(found, model.expected(), 1e-3);
}

// The commands that docs/encoders.md shows for each kind, with the models of these tests.
TEST(EmbedKinds, CommandsOfTheDocument) {
  PIPPIN_SHARED_OR_SKIP(golden, kSparse);
  PIPPIN_SHARED_OR_SKIP(golden_tokens, kTokens);
  const Splade splade(golden);
  const Late late(golden_tokens);
  const TempDir folder;
  fs::create_directory(folder / "clip");
  testing_models::write_random_clip(folder / "clip");
  write_picture(folder / "cat.png", Picture{2, 2, 3, std::vector<uint8_t>(12, 99)});
  const std::string document = read_file(source_dir() / "docs/encoders.md");
  int commands = 0;
  for (size_t begin = document.find("\n    pippin embed "); begin != std::string::npos;
       begin = document.find("\n    pippin embed ", begin + 1)) {
    const size_t end = document.find('\n', begin + 1);
    std::vector<std::string> arguments;
    std::string word;
    bool quoted = false;
    for (const char c : document.substr(begin + 12, end - begin - 12) + " ") {
      if (c == '"') quoted = !quoted;
      if (c == '"' || (c == ' ' && !quoted && word.empty())) continue;
      if (c != ' ' || quoted) {
        word += c;
        continue;
      }
      const std::map<std::string, std::string> made = {{"SPLADE", splade.model.path()},
                                                       {"COLBERT", late.model.path()},
                                                       {"CLIP", (folder / "clip").string()},
                                                       {"cat.jpg", (folder / "cat.png").string()}};
      const auto found = made.find(word);
      arguments.push_back(found == made.end() ? word : found->second);
      word.clear();
    }
    const auto result = run_pippin(arguments);
    EXPECT_EQ(result.status, 0) << document.substr(begin, end - begin) << result.err;
    EXPECT_FALSE(result.out.empty());
    ++commands;
  }
  EXPECT_EQ(commands, 5);
}

}  // namespace
}  // namespace pippin
