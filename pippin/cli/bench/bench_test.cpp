#include <gtest/gtest.h>

#include "pippin/cli/bench/bench_report.h"
#include "pippin/io/json.h"

namespace pippin::cli {
namespace {

using runtime::BenchmarkCase;

TEST(Bench, ReportHasBothDefinitionsAndTheRow) {
  BenchReport report;
  report.model = "model";
  report.cpu = "A chip";
  report.threads = 2;
  report.energy = "of processor packages, by RAPL";
  report.repetitions = 1;
  report.first = {113, 114};
  report.second = {8.125, 8.5};
  report.cost.weight_bytes = 1000;
  report.package_weight_bytes = 1333;
  report.cost.multiplied = 1000;
  report.readings = {{4000, 50'000}};
  BenchmarkCase prefill{BenchmarkCase::Kind::Prefill, 10, 0, {}};
  prefill.samples.push_back({0.5, 0.5, {}, {4000, 50'000}, std::nullopt});
  BenchmarkCase decode{BenchmarkCase::Kind::Decode, 2, 16, {}};
  decode.samples.push_back({1.5, 0, {0.5, 1.0}, {4000, 50'000}, 6.0});
  report.cases = {prefill, decode};
  const std::string lines = bench_lines(report);
  EXPECT_NE(lines.find("| pp10 | 20.00 ± 0.00 |"), std::string::npos) << lines;
  EXPECT_NE(lines.find("| 80.0 % of 0 GOP/s |"), std::string::npos) << lines;
  EXPECT_NE(lines.find("| tg2 @ d16 | 1.33 ± 0.00 | 1.33 | 1.33 | 750.00 ± 353.55 | "
                       "750.00 / 950.00 | 1.50 ± 0.71 | 33.3 % of 0.0 GB/s | 3.000 |"),
            std::string::npos)
      << lines;
  EXPECT_NE(lines.find("Weights       : 1.0 KB read for a token, 1.3 KB in the package"),
            std::string::npos)
      << lines;
  EXPECT_NE(lines.find("\nEnergy        : of processor packages, by RAPL\n"), std::string::npos)
      << lines;
  EXPECT_EQ(readme_row(report),
            "|Variant|1st Load Time|2nd+ Load Time|Tokens/Sec|Power|\n|--|--|--|--|--|\n"
            "|A chip|113.00s|8.12s|1.50 ± 0.71|4.0W|\n");
  const Json json = Json::parse(bench_json(report), "report");
  EXPECT_EQ(json.at("second_load").get_float("load_seconds"), 8.125);
  EXPECT_EQ(json.get_string("energy"), "of processor packages, by RAPL");
  ASSERT_EQ(json.at("results").size(), 2u);
  const Json result = json.at("results").at(1);
  EXPECT_EQ(result.get_string("test"), "tg2 @ d16");
  EXPECT_EQ(result.get_float("tokens_over_elapsed"), 2 / 1.5);
  EXPECT_EQ(result.at("rate_per_token").get_float("mean"), 1.5);
  EXPECT_EQ(result.at("samples").at(0).at("token_seconds").size(), 2u);
  EXPECT_EQ(result.get_float("watts"), 4);
  EXPECT_EQ(lines.find("Drafts"), std::string::npos);
  report.drafts = runtime::DraftMeasurement{100, 80, 60, 2, 20, 40};
  EXPECT_NE(bench_lines(report).find("Drafts        : 60 of 80 tokens accepted, 2.50 tokens a "
                                     "pass; 40.00 t/s, 20.00 without: 2.00x\n"),
            std::string::npos);
  const Json drafts = Json::parse(bench_json(report), "report").at("drafts");
  EXPECT_EQ(drafts.get_float("tokens_per_pass"), 2.5);
  EXPECT_EQ(drafts.get_int("accepted_tokens"), 60);
}

}  // namespace
}  // namespace pippin::cli
