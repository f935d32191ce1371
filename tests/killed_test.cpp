// Files that a killed pippin leaves, and their removal.
#include <csignal>
#include <filesystem>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "tests/process.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

class Killed : public testing::TestWithParam<const char*> {
 protected:
  // 250 MB take a while to write.
  void SetUp() override {
    write_file(dir_ / "config.json", R"({"model_type": "llama", "vocab_size": 32000,
      "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 6,
      "num_attention_heads": 8, "num_key_value_heads": 8, "tie_word_embeddings": true})");
    fs::create_directory(dir_ / "out");
  }

  std::vector<std::string> convert(const std::string& context) const {
    return {"convert",
            (dir_ / "config.json").string(),
            "--random-weights",
            "-o",
            target().string(),
            "--context",
            context,
            "--family",
            GetParam()};
  }

  fs::path target() const {
    return dir_ / "out" / (std::string(GetParam()) == "stateful" ? "x.mlpackage" : "x");
  }

  std::vector<fs::path> entries() const { return {fs::directory_iterator(dir_ / "out"), {}}; }

  // Starts a conversion and waits until it has begun to write weights.
  std::unique_ptr<Process> begin(size_t partials_before) const {
    std::vector<std::string> command = convert("64");
    command.insert(command.begin(), PIPPIN_PROGRAM);
    auto process = std::make_unique<Process>(command);
    for (int i = 0; i < 3000; ++i) {
      if (entries().size() > partials_before && bytes() > 0) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return process;
  }

  uint64_t bytes() const {
    uint64_t total = 0;
    std::error_code ignored;
    for (fs::recursive_directory_iterator entry(dir_ / "out", ignored), end; entry != end;
         entry.increment(ignored)) {
      if (entry->path().filename() == "weight.bin") total += entry->file_size(ignored);
    }
    return total;
  }

  TempDir dir_;
};

TEST_P(Killed, TheNextOneRemovesWhatIsLeft) {
  const auto killed = begin(0);
  killed->signal(SIGKILL);
  ASSERT_EQ(killed->wait().status, 128 + SIGKILL) << "it was done before";
  ASSERT_EQ(entries().size(), 1U);
  EXPECT_EQ(entries()[0].filename().string().find("." + target().filename().string() + ".partial."),
            0U);
  ASSERT_EQ(run_pippin(convert("32")).status, 0);
  EXPECT_EQ(entries(), std::vector<fs::path>{target()});
}

TEST_P(Killed, OneThatLivesGoesOn) {
  const auto living = begin(0);
  living->signal(SIGSTOP);
  ASSERT_EQ(run_pippin(convert("32")).status, 0);
  EXPECT_EQ(entries().size(), 2U);
  living->signal(SIGCONT);
  const auto result = living->wait();
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(entries(), std::vector<fs::path>{target()});
}

INSTANTIATE_TEST_SUITE_P(Families, Killed, testing::Values("stateful", "anemll"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace pippin
