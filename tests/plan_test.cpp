// `plan` on the command line, with a report that `bench` wrote.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/json.h"
#include "tests/process.h"

namespace pippin {
namespace {

using testing::HasSubstr;

std::string output_of(const std::vector<std::string>& arguments) {
  const auto result = run_pippin(arguments);
  EXPECT_EQ(result.status, 0) << result.err;
  return result.out;
}

std::string demo() {
  return demo_model_folder().string();
}

// The demo model has 5.5 MB of weights in 6 layers.
TEST(Plan, ReportsOfBenchSayWhatSeveralMachinesDo) {
  const TempDir folder;
  const std::string report = (folder / "report.json").string();
  write_file(report, output_of({"bench", demo(), "--json", "-p", "16", "-n", "4", "-r", "1",
                                "--parallel", "1,2"}));
  const Json plan = Json::parse(output_of({"plan", demo(), "--bench", report, "--machines", "7",
                                           "--memory", "2800K", "--context", "64", "--streams", "2",
                                           "--requests", "10", "--price", "1", "--json"}),
                                "plan");
  EXPECT_EQ(plan.get_int("machines_per_copy"), 3);
  EXPECT_EQ(plan.get_int("copies"), 2);
  ASSERT_EQ(plan.at("machines").elements().size(), 3U);
  for (const Json& machine : plan.at("machines").elements()) {
    const int64_t bytes = machine.get_int("weight_bytes") + machine.get_int("cache_bytes");
    EXPECT_LE(bytes, 2800 << 10);
    EXPECT_FALSE(machine.at("parts").elements().empty());
  }
  for (const char* name :
       {"one_stream_tokens_per_second", "streams_tokens_per_second", "prompt_tokens_per_second",
        "first_token_seconds", "corpus_seconds", "corpus_cost"}) {
    EXPECT_GT(plan.get_float(name), 0) << name;
  }
  EXPECT_EQ(plan.get_float("messages_per_token"), 6);
}

TEST(Plan, MemoryAloneDeterminesOneStream) {
  const std::vector<std::string> command = {"plan",     demo(), "--bandwidth", "10G",
                                            "--prompt", "1",    "--answer",    "1"};
  EXPECT_THAT(output_of(command), HasSubstr("8 streams         unknown: no report"));
  std::vector<std::string> as_json = command;
  as_json.emplace_back("--json");
  const Json plan = Json::parse(output_of(as_json), "plan");
  EXPECT_EQ(plan.get_int("machines_per_copy"), 1);
  EXPECT_NEAR(plan.get_float("one_stream_tokens_per_second"), 10e9 / 5.6e6, 100);
  EXPECT_TRUE(plan.at("streams_tokens_per_second").is_null());
}

TEST(Plan, SaysWhatIsMissing) {
  const auto error_of = [](std::vector<std::string> arguments, int status) {
    arguments.insert(arguments.begin(), {"plan", demo()});
    const auto result = run_pippin(arguments);
    EXPECT_EQ(result.status, status) << result.out;
    return result.err;
  };
  EXPECT_THAT(error_of({}, 2), HasSubstr("--bench or --bandwidth is needed"));
  EXPECT_THAT(error_of({"--bandwidth", "fast"}, 2),
              HasSubstr("fast is not a number of bytes per second, such as 10G"));
  EXPECT_THAT(error_of({"--bench", "/nonexistent"}, 1), HasSubstr("/nonexistent"));
  EXPECT_THAT(error_of({"--bandwidth", "1G", "--memory", "3M", "--context", "64"}, 1),
              HasSubstr("1 machines of 3"));
  EXPECT_THAT(error_of({"--bandwidth", "1G", "--machines", "2", "--tensor-parallel", "4"}, 2),
              HasSubstr("--tensor-parallel 4: --machines 2 are fewer"));
  EXPECT_EQ(error_of({"--bandwidth", "1G", "--context", "513"}, 1),
            "pippin: error: --context 513: the context of " + demo() + " is 512 tokens\n");
  EXPECT_EQ(
      error_of({"--bandwidth", "1G", "--context", "64", "--prompt", "60", "--answer", "5"}, 1),
      "pippin: error: a prompt of 60 and an answer of 5 tokens: the context is 64\n");
  // Sizes that are not given fit.
  EXPECT_EQ(error_of({"--bandwidth", "1G", "--context", "64", "--prompt", "60"}, 0), "");
  EXPECT_EQ(error_of({"--bandwidth", "1G", "--context", "2"}, 0), "");
}

}  // namespace
}  // namespace pippin
