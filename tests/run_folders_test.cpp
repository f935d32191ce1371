// pippin run, logits, verify and tokenize on folders of packages, and behaviour at the end of the
// context.

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/io/json.h"
#include "tests/process.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrompt = "Tell me a story about a fox called Mia.";

class RunFolders : public testing::Test {
 protected:
  std::string convert(const std::string& name, std::vector<std::string> options) {
    const std::string output = (folder_ / name).string();
    std::vector<std::string> command = {"convert", model_, "-o", output, "--family"};
    command.insert(command.end(), options.begin(), options.end());
    const auto result = run_pippin(command);
    EXPECT_EQ(result.status, 0) << result.err;
    return output;
  }

  TempDir folder_;
  std::string model_ = demo_model_folder().string();
};

// Expects one line, whatever the fault.
void expect_fault(const ProcessResult& result, int status, const std::string& part) {
  EXPECT_EQ(result.status, status) << result.err;
  EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

TEST_F(RunFolders, VerifyComparesChunkByChunk) {
  const std::string anemll =
      convert("anemll", {"anemll", "--context", "128", "--batch", "8", "--chunks", "2"});
  const auto result =
      run_pippin({"verify", anemll, "--against", model_, "--json", "--ids",
                  "401,433,259,413,375,290,259,584,1085,746,1655,16,494,370", "--greedy", "16",
                  "--context", "128", "--max-kl", "0.01", "--max-prefill-difference", "0.02",
                  "--max-part-difference", "0.02", "--same-greedy"});
  ASSERT_EQ(result.status, 0) << result.err << result.out;
  const auto parts = Json::parse(result.out, "report").at("parts").elements();
  ASSERT_EQ(parts.size(), 2U);
  // Six layers, three per chunk; the last chunk ends with the final norm.
  EXPECT_EQ(parts[0].get_string("source"), "hidden_states_3");
  EXPECT_EQ(parts[1].get_string("source"), "hidden_states_7");
  const auto strict = run_pippin({"verify", anemll, "--against", model_, "--ids", "401,433,259,413",
                                  "--greedy", "0", "--max-part-difference", "0"});
  EXPECT_EQ(strict.status, 1);
  EXPECT_NE(strict.err.find("differs by"), std::string::npos) << strict.err;
}

TEST_F(RunFolders, VerifyComparesWindowedChunks) {
  const std::string windowed = convert(
      "windowed", {"windowed", "--window", "16", "--cache", "112", "--blocks-per-chunk", "2"});
  const auto result =
      run_pippin({"verify", windowed, "--against", model_, "--json", "--ids",
                  "401,433,259,413,375,290,259,584,1085,746,1655,16,494,370,9,10,11", "--greedy",
                  "16", "--context", "128", "--max-kl", "0.01", "--max-part-difference", "0.02"});
  ASSERT_EQ(result.status, 0) << result.err << result.out;
  const auto parts = Json::parse(result.out, "report").at("parts").elements();
  ASSERT_EQ(parts.size(), 4U);  // embedding, layers 1-2, 3-4, 5-6
  EXPECT_EQ(parts[0].get_string("source"), "hidden_states_0");
  EXPECT_EQ(parts[1].get_string("source"), "hidden_states_2");
  EXPECT_EQ(parts[2].get_string("source"), "hidden_states_4");
  EXPECT_EQ(parts[3].get_string("source"), "hidden_states_6");
}

TEST_F(RunFolders, AHeadThatChoosesHasNoLogits) {
  const std::string anemll = convert("anemll", {"anemll", "--context", "64", "--argmax-in-model"});
  const std::string out = (folder_ / "x.npz").string();
  expect_fault(run_pippin({"logits", anemll, "--ids", "1,2", "-o", out}), 3, "has no logits");
  EXPECT_FALSE(fs::exists(out));
  expect_fault(run_pippin({"run", anemll, "--temp", "0.7", "--raw", "Once"}), 3, "has no logits");
  expect_fault(run_pippin({"run", anemll, "--top-k", "7", "--raw", "Once"}), 3, "has no logits");
  const auto text = run_pippin({"run", anemll, "-n", "5", "--no-stats", kPrompt});
  EXPECT_EQ(text.status, 0) << text.err;
  // The checkpoint's own most likely tokens.
  const auto greedy = run_pippin({"run", model_, "--temp", "0", "-n", "5", "--no-stats", kPrompt});
  EXPECT_EQ(greedy.out, "Once upon a time there\n");
  EXPECT_EQ(text.out, greedy.out);
}

TEST_F(RunFolders, AMissingChunkAndAnUnknownAdapterAreOneLine) {
  const std::string anemll = convert("anemll", {"anemll", "--context", "64", "--chunks", "2"});
  const auto ids = run_pippin({"tokenize", anemll, "Once upon"});
  EXPECT_EQ(ids.status, 0) << ids.err;
  EXPECT_EQ(ids.out, run_pippin({"tokenize", model_, "Once upon"}).out);
  expect_fault(run_pippin({"run", anemll, "--adapter", "x", "Once"}), 1, "unknown adapter 'x'");
  fs::remove_all(fs::path(anemll) / "llama_FFN_PF_chunk_02of02.mlpackage");
  expect_fault(run_pippin({"run", anemll, "Once"}), 1, "chunk 2 of 2 is missing");
}

TEST_F(RunFolders, TheEndOfTheContextIsNeverSilent) {
  const std::vector<std::string> base = {"run", model_, "--raw", "--temp",    "0", "--context",
                                         "24",  "-n",   "44",    "--threads", "1"};
  const auto run = [&](std::vector<std::string> options) {
    std::vector<std::string> command = base;
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), {"--", "Once upon a time"});
    return run_pippin(command);
  };
  const auto stopped = run({"--no-stats"});
  EXPECT_EQ(stopped.status, 0);
  EXPECT_NE(stopped.err.find("context full"), std::string::npos) << stopped.err;
  expect_fault(run({"--overflow", "error"}), 1, "fill the model's context of 24 tokens");
  const auto shifted = run({"--overflow", "shift", "--json"});
  EXPECT_EQ(shifted.status, 0) << shifted.err;
  const Json report = Json::parse(shifted.out, "report");
  EXPECT_EQ(report.get_ints("ids").size(), 44U);
  EXPECT_GE(report.get_int("shifts"), 2);
  EXPECT_NE(run({"--overflow", "shift"}).err.find("were forgotten"), std::string::npos);
  EXPECT_EQ(run({"--overflow", "sometimes"}).status, 2);
}

// A SIGBUS without the guard (base/files/mapped_guard.h).
TEST(RunFiles, EndWithALineWhenTheyAreCutOff) {
  const TempDir folder;
  fs::copy(source_dir() / "pippin/demo/model", folder / "model");
  const fs::path weights = folder / "model/model.safetensors";
  // The regular expression prevents an early end of the answer.
  Process process({PIPPIN_PROGRAM, "run", (folder / "model").string(), "Once", "-n", "480",
                   "--regex", "[a-z ]{3000}"});
  ASSERT_TRUE(process.wait_for_output(5));
  fs::resize_file(weights, 4096);
  expect_fault(process.wait(), 1,
               weights.string() +
                   ": can no longer be read: it was cut off while it was used, or its disk failed");
}

}  // namespace
}  // namespace pippin
