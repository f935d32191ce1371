#include <fstream>

#include <gtest/gtest.h>

#include "pippin/app/machine.h"
#include "pippin/app/model_cost.h"
#include "pippin/base/output.h"
#include "pippin/base/testing.h"
#include "pippin/cli/bench_report.h"
#include "pippin/cli/convert.h"
#include "pippin/cli/convert_family.h"
#include "pippin/io/json.h"

namespace pippin::cli {
namespace {

namespace fs = std::filesystem;
using generate::BenchmarkCase;

void write_counter(const fs::path& folder, const std::string& name, uint64_t microjoules,
                   uint64_t range) {
  fs::create_directories(folder);
  write_file(folder / "name", name + "\n");
  write_file(folder / "energy_uj", std::to_string(microjoules) + "\n");
  write_file(folder / "max_energy_range_uj", std::to_string(range) + "\n");
}

TEST(Bench, EnergyOfAllPackages) {
  const TempDir root;
  EXPECT_FALSE(app::EnergyMeter(root / "absent").joules().has_value());
  EXPECT_FALSE(app::EnergyMeter(root.path()).joules().has_value());
  write_counter(root / "intel-rapl:0", "package-0", 5'000'000, 10'000'000);
  write_counter(root / "intel-rapl:1", "package-1", 9'000'000, 10'000'000);
  write_counter(root / "intel-rapl:0:0", "core", 1, 10'000'000);
  write_counter(root / "intel-rapl:2", "psys", 1, 10'000'000);
  app::EnergyMeter meter(root.path());
  EXPECT_EQ(meter.joules(), 0);
  write_counter(root / "intel-rapl:0", "package-0", 7'000'000, 10'000'000);
  write_counter(root / "intel-rapl:0:0", "core", 9'000'000, 10'000'000);
  write_counter(root / "intel-rapl:2", "psys", 9'000'000, 10'000'000);
  EXPECT_DOUBLE_EQ(meter.joules().value(), 2);
  write_counter(root / "intel-rapl:1", "package-1", 500'000, 10'000'000);  // wrapped
  EXPECT_DOUBLE_EQ(meter.joules().value(), 3.5);
  fs::remove(root / "intel-rapl:1" / "energy_uj");
  EXPECT_FALSE(meter.joules().has_value());
}

TEST(Bench, ProbeTellsWhatTheMachineDoes) {
  ThreadPool pool(2);
  app::MachineProbe probe(pool, size_t{16} << 20);
  const auto reading = probe.reading();
  EXPECT_GT(reading.bytes_per_second, 1e7);  // under sanitizers on a busy machine
  EXPECT_LT(reading.bytes_per_second, 1e13);
  if (reading.int8_operations_per_second != 0) {
    EXPECT_GT(reading.int8_operations_per_second, 1e8);
  }
}

#if defined(__has_feature)
#define PIPPIN_HAS_FEATURE(name) __has_feature(name)
#else
#define PIPPIN_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || PIPPIN_HAS_FEATURE(address_sanitizer)
constexpr bool kFreedMemoryIsKept = true;
#else
constexpr bool kFreedMemoryIsKept = false;
#endif

TEST(Bench, PeakMemoryStartsAnew) {
  if (kFreedMemoryIsKept) GTEST_SKIP() << "the address sanitizer keeps what was freed";
  constexpr size_t kBytes = size_t{96} << 20;
  { const std::vector<char> large(kBytes, 1); }
  const uint64_t peak = app::peak_resident_bytes();
  EXPECT_GT(peak, kBytes);
  app::restart_peak_memory();
  const std::ofstream can_restart("/proc/self/clear_refs");
  if (!can_restart) GTEST_SKIP() << "the system cannot";
  EXPECT_LT(app::peak_resident_bytes(), peak);
}

TEST(Bench, DropsCachedFiles) {
  const TempDir folder;
  fs::create_directory(folder / "inner");
  write_file(folder / "inner" / "file", "text");
  EXPECT_TRUE(app::drop_cached_files(folder.path()));
  EXPECT_FALSE(app::drop_cached_files(folder / "absent"));
}

// 2 layers of 64 columns, 4 heads of 16 with 2 for keys, 96 in the middle, 50 tokens.
constexpr const char* kConfig = R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"],
  "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
  "num_key_value_heads": 2, "vocab_size": 50, "max_position_embeddings": 32,
  "rms_norm_eps": 1e-5, "tie_word_embeddings": false})";
constexpr int64_t kLayer = 64 * 64 * 2 + 64 * 32 * 2 + 3 * 64 * 96, kHead = 50 * 64;
constexpr int64_t kMultiplied = 2 * kLayer + kHead;

app::ModelCost cost_of(const fs::path& path) {
  const app::ModelChoice choice = {path.string(), "", {.threads = 1}};
  return app::model_cost(app::open_runnable(choice), choice);
}

TEST(Bench, CostOfAToken) {
  const TempDir folder;
  write_file(folder / "config.json", kConfig);
  const fs::path half = folder / "half.mlpackage", int4 = folder / "int4.mlpackage";
  convert(folder / "config.json", half, {}, {});
  const app::ModelCost cost = cost_of(half);
  EXPECT_EQ(cost.multiplied, kMultiplied);
  // The table of embeddings is not read as a whole; norms are small.
  EXPECT_GE(cost.weight_bytes, 2u * kMultiplied);
  EXPECT_LT(cost.weight_bytes, 2u * (kMultiplied + 10 * 64));
  EXPECT_GE(cost.parameters, kMultiplied + kHead);
  // 2 layers of keys and values of 32 tokens, 2 heads of 16, fp16.
  uint64_t cache = 0;
  for (const auto& one : cost.caches) cache += one.bytes;
  EXPECT_EQ(cache, 2u * 2 * 32 * 2 * 16 * 2);
  const auto read = [&](int64_t tokens, int64_t depth) {
    return cost.of({BenchmarkCase::Kind::Decode, tokens, depth, {}}).bytes -
           static_cast<double>(cost.weight_bytes);
  };
  const double per_token = static_cast<double>(cache) / 32;
  EXPECT_DOUBLE_EQ(read(1, 0), per_token);
  EXPECT_DOUBLE_EQ(read(3, 10), 12 * per_token);
  EXPECT_DOUBLE_EQ(read(100, 100), 32 * per_token);

  // Only the last token of a prompt needs the head.
  EXPECT_EQ(cost.multiplied_for_logits, kHead);
  EXPECT_DOUBLE_EQ(cost.of({BenchmarkCase::Kind::Prefill, 10, 0, {}}).operations,
                   2.0 * (2 * kLayer + kHead / 10.0));
  EXPECT_DOUBLE_EQ(cost.of({BenchmarkCase::Kind::Decode, 10, 0, {}}).operations, 2.0 * kMultiplied);

  CompressOptions options;
  options.quantize = "int4";
  options.min_elements = 1;
  convert(folder / "config.json", int4, {}, {}, recipe_of(options));
  const app::ModelCost small = cost_of(int4);
  EXPECT_EQ(small.multiplied, kMultiplied);
  EXPECT_EQ(small.parameters, cost.parameters);
  EXPECT_LT(small.weight_bytes, cost.weight_bytes / 3);
  EXPECT_GT(small.weight_bytes, static_cast<uint64_t>(kMultiplied) / 2);
}

TEST(Bench, CostIsThatOfAllFamilies) {
  const TempDir folder;
  write_file(folder / "config.json", kConfig);
  FamilyOptions anemll;
  anemll.family = "anemll";
  anemll.chunks = "2";
  anemll.batch = 8;
  convert_to_folder(folder / "config.json", folder / "anemll", anemll, {});
  FamilyOptions windowed;
  windowed.family = "windowed";
  windowed.window = 8;
  windowed.cache = 24;
  windowed.blocks_per_chunk = 1;
  convert_to_folder(folder / "config.json", folder / "windowed", windowed, {});
  for (const char* name : {"anemll", "windowed"}) {
    SCOPED_TRACE(name);
    const app::ModelCost cost = cost_of(folder / name);
    EXPECT_EQ(cost.multiplied, kMultiplied);
    EXPECT_EQ(cost.multiplied_for_logits, kHead);
    EXPECT_GE(cost.weight_bytes, 2u * kMultiplied);
    EXPECT_LT(cost.weight_bytes, 2u * (kMultiplied + 20 * 64));
    EXPECT_FALSE(cost.caches.empty());
  }
}

TEST(Bench, ReportHasBothDefinitionsAndTheRow) {
  BenchReport report;
  report.model = "model";
  report.cpu = "A chip";
  report.threads = 2;
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
  EXPECT_EQ(readme_row(report),
            "|Variant|1st Load Time|2nd+ Load Time|Tokens/Sec|Power|\n|--|--|--|--|--|\n"
            "|A chip|113.00s|8.12s|1.50 ± 0.71|4.0W|\n");
  const Json json = Json::parse(bench_json(report), "report");
  EXPECT_EQ(json.at("second_load").get_float("load_seconds"), 8.125);
  ASSERT_EQ(json.at("results").size(), 2u);
  const Json result = json.at("results").at(1);
  EXPECT_EQ(result.get_string("test"), "tg2 @ d16");
  EXPECT_EQ(result.get_float("tokens_over_elapsed"), 2 / 1.5);
  EXPECT_EQ(result.at("rate_per_token").get_float("mean"), 1.5);
  EXPECT_EQ(result.at("samples").at(0).at("token_seconds").size(), 2u);
  EXPECT_EQ(result.get_float("watts"), 4);
}

}  // namespace
}  // namespace pippin::cli
