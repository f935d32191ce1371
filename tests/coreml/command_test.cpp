// --backend coreml: the program with the stand-in prints the same texts as the normal program.

#include <algorithm>
#include <filesystem>
#include <regex>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/io/json.h"
#include "tests/process.h"

namespace pippin {
namespace {

constexpr const char* kPrompt = "Tell me a story about a fox called Mia.";

class CoreMlCommand : public testing::Test {
 protected:
  std::string convert(const std::string& name, std::vector<std::string> options) {
    const std::string output = (folder_ / name).string();
    std::vector<std::string> command = {"convert", model_, "-o", output, "--family"};
    command.insert(command.end(), options.begin(), options.end());
    const auto result = run_pippin(command);
    EXPECT_EQ(result.status, 0) << result.err;
    return output;
  }
  ProcessResult on_standin(std::vector<std::string> command,
                           std::map<std::string, std::string> environment = {}) {
    command.insert(command.begin(), PIPPIN_ON_STANDIN);
    command.insert(command.end(), {"--backend", "coreml"});
    environment.try_emplace("PIPPIN_CACHE", (folder_ / "cache").string());
    ProcessOptions options;
    options.environment = std::move(environment);
    return run_process(command, options);
  }

  TempDir folder_;
  std::string model_ = demo_model_folder().string();
};

bool says(const ProcessResult& result, const std::string& part) {
  return result.err.find(part) != std::string::npos;
}

TEST_F(CoreMlCommand, GivesTheSameTexts) {
  const std::vector<std::string> packages = {
      convert("stateful.mlpackage", {"stateful", "--context", "128"}),
      convert("anemll", {"anemll", "--context", "128", "--chunks", "2"}),
      convert("windowed", {"windowed", "--context", "128"})};
  for (const std::string& package : packages) {
    SCOPED_TRACE(package);
    const std::vector<std::string> command = {"run", package,   "--temp", "0",    "-n",
                                              "40",  "--draft", "off",    kPrompt};
    const auto expected = run_pippin(command);
    ASSERT_EQ(expected.status, 0) << expected.err;
    const auto first = on_standin(command);
    EXPECT_EQ(first.status, 0) << first.err;
    EXPECT_EQ(first.out, expected.out);
    EXPECT_TRUE(says(first, ": compiled in ") && says(first, "tried in ")) << first.err;
    const auto second = on_standin(command);
    EXPECT_EQ(second.out, expected.out);
    EXPECT_TRUE(says(second, ": loaded in ") && !says(second, "tried in ")) << second.err;
  }
}

TEST_F(CoreMlCommand, RunsAFolderOfHuggingFace) {
  const std::vector<std::string> command = {"run", model_,      "--temp", "0",    "-n",
                                            "20",  "--context", "64",     kPrompt};
  const auto expected = run_pippin(command), have = on_standin(command);
  EXPECT_EQ(have.status, 0) << have.err;
  EXPECT_EQ(have.out, expected.out);
}

// For each function; operations that the doctor would keep off the engine show the rule.
TEST_F(CoreMlCommand, AsksForPlans) {
  const std::string package = convert("m.mlpackage", {"stateful", "--context", "64"});
  const auto text = on_standin({"inspect", package, "--compute-plan"});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_TRUE(std::regex_search(
      text.out, std::regex("^function main: of the cost [0-9.]+ % on the Neural Engine, [0-9.]+ % "
                           "on the GPU, 0.0 % on the CPU \\(by Core ML\\)\n")))
      << text.out;
  EXPECT_TRUE(std::regex_search(text.out, std::regex("\n +[0-9.]+ %  Neural Engine  linear +[^ ]+  "
                                                     "or GPU, CPU\n")))
      << text.out;
  EXPECT_TRUE(std::regex_search(text.out, std::regex(" gather .*\\[gather\\]\n"))) << text.out;
  const auto json =
      on_standin({"inspect", package, "--compute-plan", "--json", "--compute-units", "cpuOnly"});
  EXPECT_EQ(json.status, 0) << json.err;
  const Json plan = Json::parse(json.out, "plan");
  EXPECT_EQ(plan.get_string("compute_units"), "cpuOnly");
  const Json& function = plan.at("functions").at(0);
  EXPECT_EQ(function.get_string("name"), "main");
  double sum = 0;
  for (const Json& operation : function.at("operations").elements()) {
    EXPECT_EQ(operation.get_string("device"), "CPU");
    EXPECT_EQ(operation.at("supported").elements().size(), 1U);
    sum += operation.at("share").as_float();
  }
  EXPECT_NEAR(sum, 1, 1e-6);
  const auto old = on_standin({"inspect", package, "--compute-plan"}, {{"STANDIN_IOS", "170"}});
  EXPECT_EQ(old.status, 3);
  EXPECT_TRUE(says(old, "compute plans from macOS 14.4 on")) << old.err;
  const auto none = run_pippin({"inspect", package, "--compute-plan", "--backend", "coreml"});
  EXPECT_EQ(none.status, 3);
  EXPECT_TRUE(says(none, "Core ML is not available")) << none.err;
  EXPECT_EQ(run_pippin({"inspect", package, "--backend", "coreml"}).status, 2);
}

// One line of error, and a status.
TEST_F(CoreMlCommand, SaysWhyNot) {
  const std::string package = convert("m.mlpackage", {"stateful", "--context", "64"});
  const std::vector<std::string> command = {"run", package, "-n", "2", "Once"};
  std::vector<std::string> elsewhere = command;
  elsewhere.insert(elsewhere.end(), {"--backend", "coreml"});
  const auto result = run_pippin(elsewhere);
  EXPECT_EQ(result.status, 3);
  EXPECT_EQ(result.err,
            "pippin: error: Core ML is not available: it is part of macOS, and programs for other "
            "systems are built without it\n");
  const auto old = on_standin(command, {{"STANDIN_IOS", "170"}});
  EXPECT_EQ(old.status, 3);
  EXPECT_TRUE(says(old, "the model has states, which Core ML has from macOS 15 on")) << old.err;
  const auto killed = on_standin(command, {{"STANDIN_PREDICT", "kills"}});
  EXPECT_EQ(killed.status, 1);
  EXPECT_TRUE(says(killed,
                   "Core ML with all fails at the first prediction: it ended its process "
                   "with signal 9"))
      << killed.err;
  const auto remembered = on_standin(command);
  EXPECT_EQ(remembered.status, 1);
  const auto other =
      on_standin({"run", package, "-n", "2", "Once", "--compute-units", "cpuAndGPU"});
  EXPECT_EQ(other.status, 0) << other.err;
  const auto unknown =
      run_pippin({"run", package, "--backend", "cpu", "--compute-units", "gpu", "x"});
  EXPECT_EQ(unknown.status, 2);
  const auto alone = run_pippin({"run", package, "--compute-units", "all", "x"});
  EXPECT_EQ(alone.status, 2);
}

}  // namespace
}  // namespace pippin
