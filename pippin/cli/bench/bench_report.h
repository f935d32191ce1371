// The report of pippin bench: a table and lines for people, JSON for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pippin/app/facts/model_cost.h"
#include "pippin/runtime/benchmark.h"
#include "pippin/runtime/draft/draft_benchmark.h"

namespace pippin::cli {

struct LoadTime {
  double load_seconds = 0;
  double first_token_seconds = 0;  // from the start of the load to the first token
};

struct BenchReport {
  std::string model, family;  // family: "stateful", "anemll", "windowed"
  std::string cpu, features;
  std::string device = "cpu";  // that ran the model
  int threads = 0;
  int repetitions = 0;
  uint64_t seed = 0;
  int64_t context = 0;
  LoadTime first, second;
  bool dropped = false;  // whether the first load had to read the disk
  uint64_t peak_memory_bytes = 0;
  // Scope and source of the measurement, or the reason why it is missing.
  std::string energy = "not told: only the processor's is measured";
  app::ModelCost cost;                            // its weights as the engine keeps them
  uint64_t package_weight_bytes = 0;              // per token, as stored
  std::vector<runtime::MachineReading> readings;  // of the processor; none for other devices
  std::vector<runtime::BenchmarkCase> cases;
  std::optional<runtime::DraftMeasurement> drafts;

  bool is_on_cpu() const { return device == "cpu"; }
};

// Markdown: the machine, the model, a row per case, and a row like those in coreml-llm-cli's
// README.
std::string bench_lines(const BenchReport& report);
// The header and a row of the table in coreml-llm-cli's README: 1st and 2nd+ load time, mean and
// deviation of the rate per token of the first decode, and watts if the machine measures them.
std::string readme_row(const BenchReport& report);
std::string bench_json(const BenchReport& report);

}  // namespace pippin::cli
