// pippin bench for packages that are not language models: predictions from random inputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/api/model.h"
#include "pippin/cli/bench/trace_file.h"
#include "pippin/runtime/benchmark.h"

namespace pippin::cli {

struct PackageBench {
  std::string name, path, function;  // function: empty: the default one
  LoadOptions load;
  std::string precision;
  int repetitions = 0;  // 0: as many as fit a second or two, at least 5
  uint64_t seed = 1;
};

struct PackageReport {
  struct Load {
    double load_seconds = 0;
    double first_prediction_seconds = 0;  // from the start of the load to its outputs
  };
  std::string model, function, precision, cpu, features;
  int threads = 0;
  uint64_t seed = 0;
  Load first, cached;
  bool dropped = false;             // whether the first load had to read the disk
  std::vector<double> seconds;      // of each prediction after the first
  double operations = 0;            // of one: additions and multiplications
  double bytes = 0;                 // of one: weights and values, each read or written once
  runtime::MachineReading machine;  // the median of readings between predictions
  uint64_t peak_memory_bytes = 0;

  double median_seconds() const;
  double min_seconds() const;
};

// Throws the errors of Model::load(), Function::predict() and random_inputs.h. The last prediction
// is recorded if a trace is wanted.
PackageReport bench_package(const PackageBench& bench, TraceFile& trace);

std::string package_lines(const PackageReport& report);
std::string package_json(const PackageReport& report);

}  // namespace pippin::cli
