// pippin compress and pippin convert with compression: the built program, end to end.

#include <algorithm>

#include <gtest/gtest.h>

#include "pippin/base/file.h"
#include "pippin/base/testing.h"
#include "pippin/io/json.h"
#include "tests/process.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

struct Agreement {
  size_t same = 0, all = 0;  // tokens of golden texts before the first other one, and of all texts
};

Agreement agreement_with_golden(const fs::path& package, const fs::path& golden) {
  Agreement result;
  for (const Json& one : Json::load(golden).at("cases").elements()) {
    const auto expected = one.get_ints("greedy_ids");
    const std::string count = std::to_string(std::min<size_t>(expected.size(), 60));
    const auto run = run_pippin({"run", package.string(), "--raw", "--json", "--temp", "0",
                                 "--threads", "1", "-n", count, "--", one.get_string("prompt")});
    EXPECT_EQ(run.status, 0) << run.err;
    if (run.status != 0) return result;
    const auto ids = Json::parse(run.out, "report").get_ints("ids");
    size_t same = 0;
    while (same < ids.size() && same < expected.size() && ids[same] == expected[same]) ++same;
    result.same += same;
    result.all += ids.size();
  }
  return result;
}

TEST(CompressEndToEnd, CompressedStoriesGoOn) {
  PIPPIN_SHARED_OR_SKIP(model, "models/stories260K");
  const TempDir scratch;
  const fs::path plain = scratch / "plain.mlpackage";
  ASSERT_EQ(run_pippin({"convert", model.string(), "-o", plain.string()}).status, 0);
  struct Case {
    std::vector<std::string> options;
    double agreement;  // least share of the tokens
    double bits;       // most per weight
  };
  const std::vector<Case> cases = {
      {{"--quantize", "int8"}, 0.8, 8.3},
      {{"--palettize", "8"}, 0.6, 9.4},
      {{"--palettize", "6", "--group", "16"}, 0.2, 8},
      {{"--quantize", "int4"}, 0.05, 4.5},
      {{"--quantize", "uint4", "--asymmetric", "--per", "block:16"}, 0.05, 5.3},
      {{"--prune", "0.1"}, 0.05, 15.5},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.options.at(0) + " " + one.options.at(1));
    const fs::path package = scratch / "small.mlpackage";
    std::vector<std::string> command = {"compress", plain.string(), "-o", package.string(),
                                        "--json"};
    command.insert(command.end(), one.options.begin(), one.options.end());
    const auto result = run_pippin(command);
    ASSERT_EQ(result.status, 0) << result.err;
    const Json report = Json::parse(result.out, "report").at("compression");
    EXPECT_LE(report.get_float("bits_per_weight"), one.bits);
    const Agreement agreement = agreement_with_golden(package, model / "golden/golden.json");
    EXPECT_GE(static_cast<double>(agreement.same),
              one.agreement * static_cast<double>(agreement.all));
  }
}

TEST(CompressEndToEnd, ErrorsAreOneLine) {
  PIPPIN_SHARED_OR_SKIP(model, "models/stories260K");
  PIPPIN_SHARED_OR_SKIP(coremltools, "coremltools");
  const TempDir scratch;
  const std::string dense = (coremltools / "c_ios15_dense_fp16.mlpackage").string();
  const std::string output = (scratch / "m.mlpackage").string();
  struct Case {
    std::vector<std::string> command;
    int status;
    std::string message;
  };
  const std::vector<Case> cases = {
      {{"compress", dense, "-o", output, "--quantize", "int8"}, 3, "needs opset CoreML6"},
      {{"compress", dense, "-o", output}, 1, "say how to compress"},
      {{"compress", dense, "-o", output, "--quantize", "int9"}, 1, "int9"},
      {{"compress", dense, "-o", "m", "--quantize", "int8"}, 1, ".mlpackage"},
      {{"convert", model.string(), "-o", output, "--palettize", "4", "--except", "none_such"},
       1,
       "matches no weight"},
      {{"convert", model.string(), "-o", output, "--lut-embeddings", "none", "--lut-head", "6"},
       1,
       "model_embed_tokens_weight is the embedding and the head"},
  };
  for (const Case& one : cases) {
    const auto result = run_pippin(one.command);
    EXPECT_EQ(result.status, one.status);
    EXPECT_NE(result.err.find(one.message), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_FALSE(fs::exists(output));
  }
}

}  // namespace
}  // namespace pippin
