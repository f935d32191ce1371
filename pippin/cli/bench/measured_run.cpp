#include "pippin/cli/bench/measured_run.h"

#include <fmt/format.h>

#include "pippin/base/cpu_features.h"
#include "pippin/base/text.h"

namespace pippin::cli {

MeasuredRun measured_run(const std::string& model) {
  MeasuredRun run;
  run.model = model;
  run.cpu = app::cpu_name();
  run.features = to_string(cpu_features());
  return run;
}

std::string load_lines(const MeasuredRun& run) {
  return fmt::format(
      "Model         : {}\nMachine       : {} ({}), {} thread{}\nFirst load    : {:.3f} s{}\n"
      "Second load   : {:.3f} s\n",
      run.model, run.cpu, run.features, run.threads, run.threads == 1 ? "" : "s",
      run.first_load_seconds, run.dropped ? "" : " (files were in memory)",
      run.second_load_seconds);
}

std::string memory_line(const MeasuredRun& run) {
  return fmt::format("Peak memory   : {}\n", format_bytes(run.peak_memory_bytes));
}

void write_run(JsonWriter& json, const MeasuredRun& run) {
  json.member("model", run.model).member("cpu", run.cpu);
  json.member("features", run.features).member("threads", run.threads);
  json.member("first_load_seconds", run.first_load_seconds);
  json.member("first_load_reads_disk", run.dropped);
  json.member("second_load_seconds", run.second_load_seconds);
  json.member("peak_memory_bytes", run.peak_memory_bytes);
}

}  // namespace pippin::cli
