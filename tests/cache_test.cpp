// The load cache: the built program, end to end.

#include <algorithm>
#include <fstream>
#include <random>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"
#include "pippin/io/json.h"
#include "tests/process.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

// A model with sparse weights, large enough to be cached, and a separate cache.
class CacheEndToEnd : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(folder_ / "config.json")
        << R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 256,)"
        << R"( "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 4,)"
        << R"( "num_key_value_heads": 4, "vocab_size": 512, "max_position_embeddings": 128,)"
        << R"( "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "tie_word_embeddings": false})";
    make("sparse", {"--prune", "0.5"});
  }

  std::string make(const std::string& name, std::vector<std::string> options) {
    const std::string package = (folder_ / (name + ".mlpackage")).string();
    std::vector<std::string> command = {"convert",
                                        (folder_ / "config.json").string(),
                                        "--random-weights",
                                        "-o",
                                        package,
                                        "--context",
                                        "64"};
    command.insert(command.end(), options.begin(), options.end());
    const auto made = run_pippin(command);
    EXPECT_EQ(made.status, 0) << made.err;
    for (const auto& file : fs::recursive_directory_iterator(package)) {
      if (file.path().filename() == "weight.bin") weights_ = file.path();
    }
    return package;
  }

  ProcessResult run(std::vector<std::string> command,
                    std::map<std::string, std::string> variables = {}) const {
    ProcessOptions options;
    options.environment = std::move(variables);
    options.environment.try_emplace("PIPPIN_CACHE", cache_.string());
    return run_pippin(std::move(command), options);
  }

  // The logits, to the last bit.
  std::string logits(const std::string& package, std::map<std::string, std::string> variables = {},
                     std::vector<std::string> more = {}) const {
    const fs::path file = folder_ / "logits.npz";
    std::vector<std::string> command = {
        "logits",     (folder_ / package).string(), "--ids", "1,2,3,4,5", "--threads", "1", "-o",
        file.string()};
    command.insert(command.end(), more.begin(), more.end());
    const auto result = run(command, std::move(variables));
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.err.find("warning"), std::string::npos) << result.err;
    return result.status == 0 ? read_file(file) : "";
  }

  std::vector<fs::path> arrays() const {
    std::vector<fs::path> files;
    if (!fs::exists(cache_ / "load")) return files;
    for (const auto& file : fs::directory_iterator(cache_ / "load")) {
      if (file.path().extension() == ".array") files.push_back(file.path());
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  TempDir folder_;
  const fs::path cache_ = folder_ / "cache";
  fs::path weights_;
};

TEST_F(CacheEndToEnd, TheSecondLoadMapsWhatTheFirstStored) {
  const std::string expected = logits("sparse.mlpackage", {}, {"--no-cache"});
  EXPECT_TRUE(arrays().empty()) << "--no-cache stores nothing";
  EXPECT_FALSE(fs::exists(cache_));
  EXPECT_EQ(logits("sparse.mlpackage", {{"PIPPIN_CACHE", ""}}), expected);

  EXPECT_EQ(logits("sparse.mlpackage"), expected);
  const auto stored = arrays();
  // Seven matrices per layer, the head, and the embedding table.
  ASSERT_EQ(stored.size(), 2U * 7 + 2);
  std::vector<fs::file_time_type> written;
  std::vector<uint64_t> inodes;
  for (const auto& file : stored) written.push_back(fs::last_write_time(file));
  EXPECT_EQ(logits("sparse.mlpackage"), expected);
  EXPECT_EQ(arrays(), stored) << "nothing new";
  for (size_t i = 0; i < stored.size(); ++i) {
    EXPECT_GT(fs::last_write_time(stored[i]), written[i]) << "not used by the second load";
  }
  // Another package with the same weights: the same arrays.
  fs::rename(folder_ / "sparse.mlpackage", folder_ / "moved.mlpackage");
  EXPECT_EQ(logits("moved.mlpackage"), expected);
  EXPECT_EQ(arrays(), stored);

  const auto listed = run({"cache", "list", "--json"});
  ASSERT_EQ(listed.status, 0) << listed.err;
  const Json list = Json::parse(listed.out, "list");
  EXPECT_EQ(list.at("entries").elements().size(), stored.size());
  for (const Json& entry : list.at("entries").elements()) {
    EXPECT_TRUE(entry.get_bool_or("valid", false));
    EXPECT_NE(entry.get_string("what").find("constexpr_sparse_to_dense"), std::string::npos);
  }
  const auto table = run({"cache", "list"});
  EXPECT_NE(table.out.find("q_proj"), std::string::npos) << table.out;
  EXPECT_EQ(run({"cache", "path"}).out, (cache_ / "load").string() + "\n");

  const auto cleared = run({"cache", "clear"});
  EXPECT_EQ(cleared.status, 0) << cleared.err;
  EXPECT_NE(cleared.out.find("16 arrays removed"), std::string::npos) << cleared.out;
  EXPECT_TRUE(arrays().empty());
  EXPECT_NE(run({"cache", "list"}).out.find("nothing in"), std::string::npos);
}

TEST_F(CacheEndToEnd, OtherFormsAreStoredToo) {
  // Joint forms, and palettes of vectors.
  make("joint", {"--prune", "0.5", "--quantize", "int8"});
  make("vectors", {"--palettize", "4", "--cluster-dim", "2"});
  for (const std::string package : {"joint.mlpackage", "vectors.mlpackage"}) {
    const size_t before = arrays().size();
    const std::string expected = logits(package, {}, {"--no-cache"});
    EXPECT_EQ(logits(package), expected) << package;
    const size_t after = arrays().size();
    EXPECT_EQ(after, before + 16) << package << ": the weights, not what they are made of";
    EXPECT_EQ(logits(package), expected) << package;
    EXPECT_EQ(arrays().size(), after) << package;
  }
}

TEST_F(CacheEndToEnd, ADamagedFileIsMadeAnew) {
  const std::string expected = logits("sparse.mlpackage");
  const auto stored = arrays();
  ASSERT_FALSE(stored.empty());
  std::mt19937 random(1);
  for (const fs::path& path : stored) {
    std::string bytes = read_file(path);
    switch (random() % 3) {
      case 0:
        bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
        break;
      case 1:
        bytes.resize(random() % bytes.size());
        break;
      default:
        bytes = read_file(stored[random() % stored.size()]) + " ";
    }
    std::ofstream(path, std::ios::binary) << bytes;
  }
  EXPECT_EQ(logits("sparse.mlpackage"), expected);
  EXPECT_EQ(arrays(), stored);
  const auto listed = run({"cache", "list"});
  EXPECT_EQ(listed.out.find("damaged"), std::string::npos) << listed.out;
}

TEST_F(CacheEndToEnd, ChangedWeightsAreNotMistakenForTheOldOnes) {
  const std::string before = logits("sparse.mlpackage");
  // Changed in place, with the same size and the old modification time: the hardest case.
  const auto time = fs::last_write_time(weights_);
  std::fstream file(weights_, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(-1000, std::ios::end);
  file.write("other numbers of the head", 25);
  file.close();
  fs::last_write_time(weights_, time);
  const std::string after = logits("sparse.mlpackage");
  EXPECT_NE(after, before);
  EXPECT_EQ(after, logits("sparse.mlpackage", {}, {"--no-cache"}));
}

TEST_F(CacheEndToEnd, WhatCannotBeStoredCostsOneWarning) {
  const std::string expected = logits("sparse.mlpackage", {}, {"--no-cache"});
  std::ofstream(folder_ / "file") << "no folder";
  const std::vector<std::map<std::string, std::string>> cases = {
      {{"PIPPIN_CACHE", (folder_ / "file" / "cache").string()}},
      {{"PIPPIN_CACHE_SIZE", "300K"}},
  };
  for (const auto& variables : cases) {
    const auto result =
        run({"logits", (folder_ / "sparse.mlpackage").string(), "--ids", "1,2,3,4,5", "--threads",
             "1", "-o", (folder_ / "logits.npz").string()},
            variables);
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_NE(result.err.find("load cache"), std::string::npos) << result.err;
    EXPECT_EQ(read_file(folder_ / "logits.npz"), expected);
  }
  EXPECT_EQ(arrays().size(), 1U) << "what fits into 300K stays";
  const auto wrong = run({"run", (folder_ / "sparse.mlpackage").string(), "x"},
                         {{"PIPPIN_CACHE_SIZE", "five apples"}});
  EXPECT_EQ(wrong.status, 1);
  EXPECT_NE(wrong.err.find("PIPPIN_CACHE_SIZE"), std::string::npos) << wrong.err;
}

TEST_F(CacheEndToEnd, ProcessesLoadTheSameModelAtOnce) {
  const std::string expected = logits("sparse.mlpackage", {}, {"--no-cache"});
  ProcessOptions options;
  options.environment["PIPPIN_CACHE"] = cache_.string();
  std::vector<std::unique_ptr<Process>> processes;
  for (int i = 0; i < 6; ++i) {
    processes.push_back(std::make_unique<Process>(
        std::vector<std::string>{PIPPIN_PROGRAM, "logits", (folder_ / "sparse.mlpackage").string(),
                                 "--ids", "1,2,3,4,5", "--threads", "1", "-o",
                                 (folder_ / (std::to_string(i) + ".npz")).string()},
        options));
  }
  for (int i = 0; i < 6; ++i) {
    const auto result = processes[static_cast<size_t>(i)]->wait();
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(read_file(folder_ / (std::to_string(i) + ".npz")), expected);
  }
  EXPECT_EQ(arrays().size(), 16U);
}

}  // namespace
}  // namespace pippin
