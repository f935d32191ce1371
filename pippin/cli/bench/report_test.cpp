#include "pippin/cli/bench/report.h"

#include <gtest/gtest.h>

#include "pippin/io/json.h"

namespace pippin::cli {
namespace {

RunReport example() {
  RunReport report;
  report.model = "demo";
  report.text = "A \"fox\"";
  report.prompt_ids = {1, 2, 3, 4};
  report.result.ids = {5, 6, 7};
  report.result.reason = runtime::StopReason::EndOfText;
  report.result.timings.prompt_tokens = 4;
  report.result.timings.prompt_seconds = 0.02;
  report.result.timings.first_token_seconds = 0.025;
  report.result.timings.token_seconds = {0.004, 0.006};
  report.result.timings.generate_seconds = 0.0125;
  report.load_seconds = 1.234;
  report.peak_memory_bytes = 12300000;
  report.threads = 2;
  return report;
}

TEST(Report, LinesAreThoseOfTheNeighbour) {
  EXPECT_EQ(statistics_lines(example(), false),
            "Compile + Load: 1.23 sec\n"
            "Prompt        : 20.00 ms\n"
            "Generate      : 5.00 +/- 1.41 ms / token\n"
            "                208.33 +/- 58.93 token / sec\n"
            "Elapsed       : 160.00 token / sec (2 tokens in 0.01 sec)\n"
            "First token   : 25.00 ms (4 prompt tokens, 200.00 token / sec)\n"
            "Peak memory   : 12.3 MB\n");
}

TEST(Report, SaysWhyTextEndsEarly) {
  RunReport report = example();
  const auto has = [&](const char* part, bool verbose) {
    return statistics_lines(report, verbose).find(part) != std::string::npos;
  };
  EXPECT_TRUE(has("Stop          : end of text\n", true));
  report.result.reason = runtime::StopReason::StopString;
  EXPECT_TRUE(has("Stop          : stop string\n", true));
  EXPECT_FALSE(has("Stop", false));
  report.result.reason = runtime::StopReason::ContextFull;
  EXPECT_TRUE(has("Stop          : context full\n", false));
}

TEST(Report, OneTokenHasNoTimePerToken) {
  RunReport report = example();
  report.result.timings.token_seconds.clear();
  EXPECT_EQ(statistics_lines(report, false).find("Generate"), std::string::npos);
}

TEST(Report, JsonHoldsTextIdsAndStatistics) {
  const Json json = Json::parse(report_json(example()), "report");
  EXPECT_EQ(json.get_string("text"), "A \"fox\"");
  EXPECT_EQ(json.get_string("stop"), "end of text");
  EXPECT_EQ(json.get_ints("ids"), (std::vector<int64_t>{5, 6, 7}));
  const Json statistics = json.at("statistics");
  EXPECT_EQ(statistics.get_int("prompt_tokens"), 4);
  EXPECT_NEAR(statistics.at("milliseconds_per_token").get_float("mean"), 5, 1e-9);
  EXPECT_NEAR(statistics.get_float("tokens_over_elapsed"), 160, 1e-6);
}

}  // namespace
}  // namespace pippin::cli
