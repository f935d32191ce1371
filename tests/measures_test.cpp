// `logits` and `verify` on the command line.
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/json.h"
#include "pippin/io/npz.h"
#include "tests/process.h"

namespace pippin {
namespace {

std::string output_of(const std::vector<std::string>& arguments) {
  const auto result = run_pippin(arguments);
  EXPECT_EQ(result.status, 0) << result.err;
  return result.out;
}

TEST(Logits, AllAtOnceAndStepByStepAgree) {
  const TempDir scratch;
  const std::string model = demo_model_folder().string();
  const std::string together = (scratch / "a.npz").string(), steps = (scratch / "b.npz").string();
  output_of({"logits", model, "--ids", "401, 433,259", "-o", together});
  const Json json = Json::parse(
      output_of({"logits", model, "--ids", "401,433,259", "--steps", "-o", steps, "--json"}),
      "json");
  EXPECT_EQ(json.get_int("tokens"), 3);
  EXPECT_EQ(json.get_int("vocabulary"), 2048);
  const NpyArray a = NpzFile::open(together).read("logits"),
                 b = NpzFile::open(steps).read("logits");
  EXPECT_EQ(a.shape, (std::vector<int64_t>{1, 3, 2048}));
  EXPECT_EQ(a.type, NpyType::F32);
  const auto x = a.to_doubles(), y = b.to_doubles();
  ASSERT_EQ(x.size(), y.size());
  for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], 1e-4) << i;
  EXPECT_EQ(NpzFile::open(together).read("ids").to_doubles(), (std::vector<double>{401, 433, 259}));
}

TEST(Logits, PrecisionsAgree) {
  PIPPIN_SHARED_OR_SKIP(folder, "architectures/llama_gqa_llama3_tied");
  const TempDir temp;
  std::vector<std::vector<float>> rows;
  std::set<std::string> texts;
  for (const std::string precision : {"fast", "exact", "reference"}) {
    const std::string path = (temp / (precision + ".npz")).string();
    output_of({"logits", folder.string(), "--ids", "1,103,107", "--context", "16", "-o", path,
               "--precision", precision, "--pin"});
    rows.push_back(NpzFile::open(path).read("logits").to_floats());
    texts.insert(
        output_of({"run", demo_model_folder().string(), "-n", "4", "--raw", "--temp", "0",
                   "--context", "8", "--precision", precision, "--no-stats", "Once upon"}));
  }
  EXPECT_EQ(texts.size(), 1u);
  // Measured: 6e-7; the largest logit is 2, and everything is computed in fp32.
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), 3u * 128);
    for (size_t i = 0; i < row.size(); ++i) ASSERT_NEAR(row[i], rows[0][i], 2e-5F) << i;
  }
}

TEST(Logits, WrongUseIsOneLine) {
  const TempDir scratch;
  const std::string model = demo_model_folder().string(), out = (scratch / "o.npz").string();
  EXPECT_EQ(run_pippin({"logits", model, "-o", out}).status, 2);
  EXPECT_EQ(run_pippin({"logits", model, "--ids", "1,,2", "-o", out}).status, 2);
  EXPECT_EQ(run_pippin({"logits", model, "--ids", "1,-2", "-o", out}).status, 2);
  const auto outside = run_pippin({"logits", model, "--ids", "1,2048", "-o", out});
  EXPECT_EQ(outside.status, 1);
  EXPECT_NE(outside.err.find("2048"), std::string::npos) << outside.err;
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(Verify, MeasuresAPackageByItsSource) {
  const TempDir scratch;
  const std::string model = demo_model_folder().string();
  const std::string package = (scratch / "p.mlpackage").string();
  const std::string text = (scratch / "t.txt").string();
  write_file(text, "Once upon a time there was a little dog who liked to play in the park.");
  output_of({"convert", model, "-o", package});
  const std::vector<std::string> command = {"verify", package, "--against", model, "--text", text};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), command.begin(), command.end());
    return run_pippin(more);
  };
  const auto measured = with({"--json", "--max-kl", "0.01", "--min-top1", "95", "--same-greedy",
                              "--max-perplexity-increase", "1", "--max-step-difference", "0.01"});
  EXPECT_EQ(measured.status, 0) << measured.err;
  const Json json = Json::parse(measured.out, "json");
  EXPECT_GT(json.get_int("tokens"), 10);
  EXPECT_GT(json.get_float("mean_kl"), 0);
  EXPECT_LT(json.get_float("mean_kl"), 0.01);
  EXPECT_GT(json.get_float("perplexity"), 1);
  const auto broken = with({"--max-kl", "1e-12"});
  EXPECT_EQ(broken.status, 1);
  EXPECT_NE(broken.err.find("KL"), std::string::npos) << broken.err;
  EXPECT_NE(broken.out.find("top-1 agreement"), std::string::npos);
}

}  // namespace
}  // namespace pippin
