// Compares the greedy continuation of trained models, token by token, with two other
// implementations: from the folder and from the converted package, on every kernel level of the
// processor.

#include <gtest/gtest.h>

#include "pippin/base/cpu_features.h"
#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/io/json.h"
#include "tests/process.h"

namespace pippin {
namespace {

// Prompt and text together, unless the text ends earlier.
constexpr size_t kPositions = 256;

void expect_golden(const std::filesystem::path& model, const std::filesystem::path& golden,
                   const std::string& level, const std::vector<std::string>& options = {}) {
  for (const Json& one : Json::load(golden).at("cases").elements()) {
    const std::string prompt = one.get_string("prompt");
    SCOPED_TRACE(prompt);
    const auto prompt_ids = one.get_ints("prompt_ids");
    std::vector<std::string> command = {
        "run", model.string(), "--raw", "--json", "--temp",
        "0",   "--threads",    "1",     "-n",     std::to_string(kPositions - prompt_ids.size())};
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), {"--", prompt});
    ProcessOptions process;
    if (!level.empty()) process.environment = {{"PIPPIN_CPU", level}};
    const auto result = run_pippin(std::move(command), std::move(process));
    ASSERT_EQ(result.status, 0) << result.err;
    const Json report = Json::parse(result.out, "report");
    EXPECT_EQ(report.get_ints("prompt_ids"), prompt_ids);
    EXPECT_EQ(report.get_ints("ids"), one.get_ints("greedy_ids"));
    const bool ends = one.get_string("stop") == "bos";
    EXPECT_EQ(report.get_string("stop"), ends ? "end of text" : "token limit");
  }
}

// The demo model with its chat template, compared with the program that trained it.
TEST(DemoModel, AnswersAsItsMakerSays) {
  const auto golden = source_dir() / "pippin/demo/golden.json";
  for (const Json& one : Json::load(golden).at("cases").elements()) {
    // A near tie may be decided differently by another order of additions.
    if (one.get_float("smallest_margin") < 0.02) continue;
    std::vector<std::string> command = {"run", "--json", "--temp", "0", "--threads", "1"};
    std::string prompt = one.get_string("prompt");
    const auto messages = one.at("messages").elements();
    const auto role = [&](size_t index) { return messages[index].get_string("role"); };
    const auto content = [&](size_t index) { return messages[index].get_string("content"); };
    if (messages.size() == 1) {
      prompt = content(0);
    } else if (messages.size() == 2 && role(0) == "system") {
      command.insert(command.end(), {"--system", content(0)});
      prompt = content(1);
    } else {
      command.emplace_back("--raw");
    }
    SCOPED_TRACE(prompt);
    const auto result = run_pippin(std::move(command), {.input = prompt});
    ASSERT_EQ(result.status, 0) << result.err;
    const Json report = Json::parse(result.out, "report");
    EXPECT_EQ(report.get_ints("prompt_ids"), one.get_ints("prompt_ids"));
    EXPECT_EQ(report.get_string("text"), one.get_string("text"));
    auto expected = one.get_ints("continuation_ids");
    if (report.get_string("stop") == "end of text") expected.pop_back();
    EXPECT_EQ(report.get_ints("ids"), expected);
  }
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, FolderOnEveryCpuLevel) {
  PIPPIN_SHARED_OR_SKIP(model, "models/" + GetParam());
  for (const auto& [level, cpu] : cpu_levels(detect_cpu())) {
    SCOPED_TRACE(level);
    expect_golden(model, model / "golden/golden.json", level);
  }
}

TEST_P(Golden, PackageOnEveryCpuLevel) {
  PIPPIN_SHARED_OR_SKIP(model, "models/" + GetParam());
  const TempDir folder;
  const auto package = folder / (GetParam() + ".mlpackage");
  const auto converted = run_pippin({"convert", model.string(), "-o", package.string()});
  ASSERT_EQ(converted.status, 0) << converted.err;
  for (const auto& [level, cpu] : cpu_levels(detect_cpu())) {
    SCOPED_TRACE(level);
    expect_golden(package, model / "golden/golden.json", level);
  }
}

// All families and all ways of feeding a prompt return the same text.
struct FamilyCase {
  const char* name;
  std::vector<std::string> convert;
  std::vector<std::vector<std::string>> run;
};

class GoldenFamilies : public testing::TestWithParam<FamilyCase> {};

TEST_P(GoldenFamilies, GiveTheSameText) {
  PIPPIN_SHARED_OR_SKIP(model, "models/stories260K");
  const TempDir folder;
  const bool stateful = std::string(GetParam().name).starts_with("stateful");
  const auto output = folder / (stateful ? "model.mlpackage" : "model");
  std::vector<std::string> convert = {"convert", model.string(), "-o", output.string()};
  convert.insert(convert.end(), GetParam().convert.begin(), GetParam().convert.end());
  const auto converted = run_pippin(convert);
  ASSERT_EQ(converted.status, 0) << converted.err;
  for (const auto& options : GetParam().run) {
    SCOPED_TRACE(options.empty() ? "" : options.back());
    expect_golden(output, model / "golden/golden.json", "", options);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Forms, GoldenFamilies,
    testing::Values(
        FamilyCase{"stateful_fixed", {"--context", "256", "--query-lengths", "8"}, {{}}},
        FamilyCase{"stateful_enumerated", {"--context", "256", "--query-lengths", "1,4,16"}, {{}}},
        FamilyCase{"stateful_prefill",
                   {"--context", "256", "--query-lengths", "1", "--prefill", "4"},
                   {{}}},
        FamilyCase{"anemll",
                   {"--family", "anemll", "--context", "256", "--batch", "4", "--chunks", "2"},
                   {{"--prefill", "batch"}, {"--prefill", "steps"}, {"--low-memory"}}},
        FamilyCase{
            "anemll_argmax", {"--family", "anemll", "--context", "256", "--argmax-in-model"}, {{}}},
        FamilyCase{"windowed",
                   {"--family", "windowed", "--window", "64", "--cache", "192"},
                   {{}, {"--low-memory"}}}),
    [](const auto& test) { return std::string(test.param.name); });

INSTANTIATE_TEST_SUITE_P(Models, Golden, testing::Values("stories260K", "babyllama-tok105"),
                         [](const auto& test) { return test.param.substr(0, 5); });

}  // namespace
}  // namespace pippin
