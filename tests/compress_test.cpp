// pippin compress and pippin convert with compression: the built program, end to end.

#include <algorithm>
#include <cmath>
#include <fstream>

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
    const auto run =
        run_pippin({"run", package.string(), "--raw", "--json", "--temp", "0", "--threads", "1",
                    "--precision", "exact", "-n", count, "--", one.get_string("prompt")});
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

std::string write_file(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
  return path.string();
}

// Of a package over texts, each within the context.
double perplexity(const fs::path& package, const fs::path& source,
                  const std::vector<std::string>& texts) {
  double sum = 0, tokens = 0;
  for (const std::string& text : texts) {
    const auto result = run_pippin({"verify", package.string(), "--against", source.string(),
                                    "--text", text, "--greedy", "1", "--threads", "1", "--json"});
    EXPECT_EQ(result.status, 0) << result.err;
    const Json report = Json::parse(result.out, "report");
    sum += report.get_float("tokens") * std::log(report.get_float("perplexity"));
    tokens += report.get_float("tokens");
  }
  return std::exp(sum / tokens);
}

TEST(CompressEndToEnd, CalibrationBeatsRounding) {
  PIPPIN_SHARED_OR_SKIP(model, "models/stories260K");
  const TempDir scratch;
  const fs::path plain = scratch / "plain.mlpackage";
  ASSERT_EQ(run_pippin({"convert", model.string(), "-o", plain.string()}).status, 0);
  // Texts as the model writes them: some to calibrate with, the others held out.
  std::string seen;
  std::vector<std::string> held_out;
  for (int seed = 1; seed <= 12; ++seed) {
    const auto story =
        run_pippin({"run", plain.string(), "--raw", "--temp", "1", "--top-p", "0.95", "--seed",
                    std::to_string(seed), "-n", "300", "--threads", "1", "Once upon a time"});
    ASSERT_EQ(story.status, 0) << story.err;
    if (seed <= 9) {
      seen += story.out + "\n";
    } else {
      held_out.push_back(write_file(scratch / std::to_string(seed), story.out));
    }
  }
  const std::string calibration = write_file(scratch / "seen.txt", seen);
  const double best = perplexity(plain, plain, held_out);
  // The most that may be left of what rounding costs. (Of 2,300 tokens a palette learns less than
  // of about 9,000, which leave 0.7.)
  const std::vector<std::pair<std::vector<std::string>, double>> forms = {
      {{"--quantize", "int4", "--per", "channel"}, 0.9},
      {{"--palettize", "3", "--group", "16"}, 0.96},
  };
  const fs::path small = scratch / "small.mlpackage";
  for (const auto& [form, most] : forms) {
    std::vector<std::string> command = {"compress",     plain.string(), "-o",
                                        small.string(), "--threads",    "1"};
    command.insert(command.end(), form.begin(), form.end());
    ASSERT_EQ(run_pippin(command).status, 0);
    const double rounded = perplexity(small, plain, held_out);
    command.insert(command.end(), {"--calibrate", calibration});
    const auto calibrated = run_pippin(command);
    ASSERT_EQ(calibrated.status, 0) << calibrated.err;
    EXPECT_NE(calibrated.out.find(", calibrated"), std::string::npos);
    const double left = std::log(perplexity(small, plain, held_out) / best);
    EXPECT_LT(left, most * std::log(rounded / best)) << form[1] << " of " << best;
  }
  // What is compressed is compressed again only when asked.
  const fs::path again = scratch / "again.mlpackage";
  const std::vector<std::string> command = {
      "compress", small.string(), "-o", again.string(), "--palettize", "4", "--only", "*q_proj*"};
  const auto refused = run_pippin(command);
  EXPECT_EQ(refused.status, 1);
  EXPECT_FALSE(fs::exists(again));
  auto anew = command;
  anew.push_back("--recompress");
  EXPECT_EQ(run_pippin(anew).status, 0);
  EXPECT_EQ(run_pippin({"verify", again.string(), "--against", small.string(), "--ids", "1,2,3",
                        "--greedy", "1", "--threads", "1"})
                .status,
            0);
}

TEST(CompressEndToEnd, MixedBitsStayInTheBudget) {
  PIPPIN_SHARED_OR_SKIP(model, "models/stories260K");
  const TempDir scratch;
  const fs::path plain = scratch / "plain.mlpackage", small = scratch / "small.mlpackage";
  ASSERT_EQ(run_pippin({"convert", model.string(), "-o", plain.string()}).status, 0);
  std::string seen;
  for (const Json& one : Json::load(model / "golden/golden.json").at("cases").elements()) {
    if (seen.size() < 1200) seen += one.get_string("text") + "\n";
  }
  const std::string calibration = write_file(scratch / "seen.txt", seen);
  const auto result =
      run_pippin({"compress", plain.string(), "-o", small.string(), "--mixed", "4.5", "--calibrate",
                  calibration, "--only", "*layers_0*", "--threads", "1", "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const Json report = Json::parse(result.out, "report").at("compression");
  EXPECT_LE(report.get_float("bits_per_weight"), 4.5);
  EXPECT_GT(report.get_float("bits_per_weight"), 4.0);
  EXPECT_EQ(report.at("weights").size(), 7u);
}

TEST(CompressEndToEnd, ErrorsAreOneLine) {
  const fs::path model = demo_model_folder();
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
      {{"compress", dense, "-o", output, "--quantize", "int4"}, 3, "needs opset CoreML8"},
      {{"compress", dense, "-o", output, "--quantize", "int4", "--min-target", "iOS1"}, 1, "iOS1"},
      {{"compress", dense, "-o", output, "--mixed", "4"}, 1, "--calibrate"},
      {{"compress", dense, "-o", output, "--mixed", "1", "--calibrate", "x"}, 1, "2 to 8 bits"},
      {{"compress", dense, "-o", output, "--quantize", "int8", "--cluster-dim", "2"},
       1,
       "need --palettize"},
      {{"compress", dense, "-o", output, "--palettize", "4", "--group", "3", "--cluster-dim", "2"},
       1,
       "groups of 3 channels"},
      {{"compress", dense, "-o", output, "--n-m-ratio", "4:2"}, 1, "n_m_ratio"},
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
