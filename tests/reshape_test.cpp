// pippin repackage: a package with another shape equals the package converted from the checkpoint
// with that shape.

#include <filesystem>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"
#include "tests/process.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

void run_well(const std::vector<std::string>& arguments) {
  const ProcessResult result = run_pippin(arguments);
  ASSERT_EQ(result.status, 0) << result.err;
}

// Every file of both folders.
void expect_same_files(const fs::path& a, const fs::path& b) {
  size_t count = 0, others = 0;
  for (const auto& entry : fs::recursive_directory_iterator(a)) {
    if (!entry.is_regular_file()) continue;
    ++count;
    const fs::path relative = fs::relative(entry.path(), a);
    ASSERT_TRUE(fs::exists(b / relative)) << relative;
    EXPECT_TRUE(read_file(entry.path()) == read_file(b / relative)) << relative;
  }
  for (const auto& entry : fs::recursive_directory_iterator(b)) others += entry.is_regular_file();
  EXPECT_GE(count, 3u);
  EXPECT_EQ(count, others);
}

class Reshape : public testing::TestWithParam<const char*> {};

TEST_P(Reshape, IsTheConversionInThatShape) {
  PIPPIN_SHARED_OR_SKIP(source, std::string("architectures/") + GetParam());
  const TempDir scratch;
  const std::string first = scratch / "first.mlpackage";
  run_well({"convert", source.string(), "-o", first});
  const auto compare = [&](const std::string& name, std::vector<std::string> options) {
    SCOPED_TRACE(name);
    std::vector<std::string> direct = {"convert", source.string(), "-o", scratch / ("d" + name)};
    std::vector<std::string> again = {"repackage", first, "-o", scratch / ("r" + name)};
    direct.insert(direct.end(), options.begin(), options.end());
    again.insert(again.end(), options.begin(), options.end());
    run_well(direct);
    run_well(again);
    expect_same_files(scratch / ("d" + name), scratch / ("r" + name));
  };
  compare("s.mlpackage", {"--context", "48", "--prefill", "8"});
  compare("a", {"--family", "anemll", "--context", "64", "--chunks", "2"});
}

// One for each way of rearranging weights.
INSTANTIATE_TEST_SUITE_P(Architectures, Reshape,
                         testing::Values("llama_mha", "gpt2", "phi3_mini4", "gemma3",
                                         "cohere_qknorm", "qwen3", "internlm2", "opt"));

TEST(Reshape, WhatCannotBeIsRefused) {
  PIPPIN_SHARED_OR_SKIP(other, "coremltools/llama_stateful.mlpackage");
  const TempDir scratch;
  const ProcessResult foreign =
      run_pippin({"repackage", other.string(), "-o", scratch / "x.mlpackage", "--context", "64"});
  EXPECT_EQ(foreign.status, 3);
  EXPECT_NE(foreign.err.find("not made by Pippin"), std::string::npos) << foreign.err;
  EXPECT_FALSE(fs::exists(scratch / "x.mlpackage"));
}

TEST(Reshape, FunctionsCanBeLeftOut) {
  PIPPIN_SHARED_OR_SKIP(other, "coremltools/llama_multifunction.mlpackage");
  const TempDir scratch;
  const std::string one = scratch / "x.mlpackage";
  run_well({"repackage", other.string(), "-o", one, "--function", "prefill"});
  const ProcessResult inspected = run_pippin({"inspect", one});
  EXPECT_EQ(inspected.out.find("infer"), std::string::npos) << inspected.out;
  EXPECT_NE(inspected.out.find("prefill"), std::string::npos) << inspected.out;
  EXPECT_EQ(run_pippin({"repackage", other.string(), "-o", one, "--function", "no"}).status, 1);
}

}  // namespace
}  // namespace pippin
