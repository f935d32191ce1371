// The parts of a measurement that benchmarks of all kinds of models share: the machine, the model's
// loads, and its memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "pippin/app/facts/machine.h"
#include "pippin/app/open/open_model.h"
#include "pippin/base/stopwatch.h"
#include "pippin/io/json.h"

namespace pippin::cli {

struct MeasuredRun {
  std::string model, cpu, features;
  int threads = 0;
  double first_load_seconds = 0, second_load_seconds = 0;
  bool dropped = false;  // whether the first load had to read the disk
  uint64_t peak_memory_bytes = 0;
};

MeasuredRun measured_run(const std::string& model);

// Opens the model twice; the second time, the contents of the load cache are there.
template <typename Open>
auto open_twice(const app::ModelChoice& choice, const Open& open, MeasuredRun& run) {
  run.dropped = app::drop_cached_files(choice.path);
  auto start = std::chrono::steady_clock::now();
  open(choice);
  run.first_load_seconds = seconds_since(start);
  app::restart_peak_memory();
  start = std::chrono::steady_clock::now();
  auto opened = open(choice);
  run.second_load_seconds = seconds_since(start);
  return opened;
}

// The lines of the model, the machine and the loads, and of the memory; the same as members of an
// object.
std::string load_lines(const MeasuredRun& run);
std::string memory_line(const MeasuredRun& run);
void write_run(JsonWriter& json, const MeasuredRun& run);

}  // namespace pippin::cli
