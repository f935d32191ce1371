#include "pippin/cli/bench/bench_package.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include <fmt/format.h>

#include "pippin/app/facts/machine.h"
#include "pippin/app/facts/operation_cost.h"
#include "pippin/base/cpu_features.h"
#include "pippin/base/stopwatch.h"
#include "pippin/base/text.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/cli/bench/random_inputs.h"
#include "pippin/io/json.h"
#include "pippin/mil/package/package.h"

namespace pippin::cli {
namespace {

using Clock = std::chrono::steady_clock;
using runtime::MachineReading;

// A function with inputs, after one prediction, which makes its plans.
struct Prepared {
  Model model;
  Function function;
  Values inputs;
  State state;
};

std::unique_ptr<Prepared> prepare(const PackageBench& bench, PackageReport::Load& time) {
  const auto start = Clock::now();
  Model model = Model::load(bench.path, bench.load);
  Function function =
      model.function(bench.function.empty() ? model.default_function() : bench.function);
  time.load_seconds = seconds_since(start);
  Values inputs;
  add_random_inputs(function, bench.path, bench.seed, {}, bench.load.max_elements, inputs);
  State state = function.make_state();
  function.predict(inputs, state);
  time.first_prediction_seconds = seconds_since(start);
  return std::make_unique<Prepared>(
      Prepared{std::move(model), std::move(function), std::move(inputs), std::move(state)});
}

// Adds the operations and bytes of a prediction; zeros for a pipeline, whose stages have separate
// functions.
void add_costs(const PackageBench& bench, const std::string& function, PackageReport& report) {
  const mil::Model model = mil::read_package(bench.path);
  if (model.is_pipeline()) return;
  for (const app::OperationCost& cost : app::operation_costs(model, function)) {
    if (cost.constant) continue;
    report.operations += cost.arithmetic;
    report.bytes += cost.bytes;
  }
}

MachineReading median_of(const std::vector<MachineReading>& readings) {
  const auto median = [&](double MachineReading::*member) {
    std::vector<double> values;
    values.reserve(readings.size());
    for (const MachineReading& reading : readings) values.push_back(reading.*member);
    return runtime::percentile(std::move(values), 0.5);
  };
  return {median(&MachineReading::bytes_per_second),
          median(&MachineReading::int8_operations_per_second),
          median(&MachineReading::fp32_operations_per_second)};
}

double share(double rate, double limit) {
  return limit > 0 ? rate / limit : 0;
}

}  // namespace

double PackageReport::median_seconds() const {
  return runtime::percentile(seconds, 0.5);
}
double PackageReport::min_seconds() const {
  return runtime::percentile(seconds, 0);
}

PackageReport bench_package(const PackageBench& bench, TraceFile& trace) {
  PackageReport report;
  report.model = bench.name;
  report.precision = bench.precision;
  report.seed = bench.seed;
  report.cpu = app::cpu_name();
  report.features = to_string(cpu_features());
  report.dropped = app::drop_cached_files(bench.path);
  prepare(bench, report.first);
  app::restart_peak_memory();
  const auto prepared = prepare(bench, report.cached);
  const Function& function = prepared->function;
  report.function = function.name();
  report.threads = prepared->model.num_threads();

  constexpr double kSeconds = 2;
  constexpr int kFewest = 5, kMost = 10'000, kReadings = 5;
  const int wanted = bench.repetitions > 0 ? bench.repetitions : kMost;
  double total = 0;
  for (int i = 0; i < wanted; ++i) {
    check_cancel();
    if (bench.repetitions == 0 && i >= kFewest && total > kSeconds) break;
    const auto start = Clock::now();
    function.predict(prepared->inputs, prepared->state);
    report.seconds.push_back(seconds_since(start));
    total += report.seconds.back();
  }
  report.peak_memory_bytes = app::peak_resident_bytes();
  if (trace.wanted()) {
    const TraceFile::Scope scope(trace);
    function.predict(prepared->inputs, prepared->state);
  }
  // After the predictions, which another pool's threads would disturb.
  ThreadPool pool(report.threads);
  app::MachineProbe probe(pool);
  std::vector<MachineReading> readings;
  readings.reserve(kReadings);
  for (int i = 0; i < kReadings; ++i) readings.push_back(probe.reading());
  report.machine = median_of(readings);
  add_costs(bench, report.function, report);
  return report;
}

std::string package_lines(const PackageReport& report) {
  std::string lines;
  const auto line = [&]<typename... Args>(fmt::format_string<Args...> format, Args&&... args) {
    lines += fmt::format(format, std::forward<Args>(args)...) + "\n";
  };
  const double median = report.median_seconds();
  const double operations = report.operations / median, bytes = report.bytes / median;
  line("Package       : {}, function {}, {}", report.model, report.function, report.precision);
  line("Machine       : {} ({}), {} thread{}", report.cpu, report.features, report.threads,
       report.threads == 1 ? "" : "s");
  line("First load    : {:.3f} s, outputs after {:.3f} s{}", report.first.load_seconds,
       report.first.first_prediction_seconds, report.dropped ? "" : " (files were in memory)");
  line("Cached load   : {:.3f} s, outputs after {:.3f} s", report.cached.load_seconds,
       report.cached.first_prediction_seconds);
  line("Prediction    : {:.3f} ms median, {:.3f} ms min of {}", median * 1e3,
       report.min_seconds() * 1e3, report.seconds.size());
  if (report.operations > 0) {
    std::string shares;
    const auto add = [&](const char* name, double peak) {
      if (peak <= 0) return;
      shares += fmt::format("{}{:.1f} % of the {} peak ({:.0f})", shares.empty() ? ": " : ", ",
                            operations / peak * 100, name, peak / 1e9);
    };
    add("fp32", report.machine.fp32_operations_per_second);
    add("int8", report.machine.int8_operations_per_second);
    line("Arithmetic    : {:.3g} G, {:.1f} G/s{}", report.operations / 1e9, operations / 1e9,
         shares);
  }
  if (report.bytes > 0) {
    line("Memory        : {}, {:.1f} GB/s: {:.1f} % of the measured rate ({:.1f})",
         format_bytes(static_cast<uint64_t>(report.bytes)), bytes / 1e9,
         share(bytes, report.machine.bytes_per_second) * 100,
         report.machine.bytes_per_second / 1e9);
  }
  line("Peak memory   : {}", format_bytes(report.peak_memory_bytes));
  return lines;
}

std::string package_json(const PackageReport& report) {
  JsonWriter json(2);
  const auto load = [&](const char* name, const PackageReport::Load& time) {
    json.key(name).begin_object();
    json.member("load_seconds", time.load_seconds);
    json.member("first_prediction_seconds", time.first_prediction_seconds).end_object();
  };
  const double median = report.median_seconds();
  const MachineReading& machine = report.machine;
  json.begin_object();
  json.member("package", report.model).member("function", report.function);
  json.member("precision", report.precision);
  json.member("cpu", report.cpu).member("features", report.features);
  json.member("threads", report.threads).member("seed", report.seed);
  load("first_load", report.first);
  json.member("first_load_reads_disk", report.dropped);
  load("cached_load", report.cached);
  json.member("median_seconds", median).member("min_seconds", report.min_seconds());
  json.member("operations", report.operations).member("bytes", report.bytes);
  json.member("operations_per_second", report.operations / median);
  json.member("bytes_per_second", report.bytes / median);
  json.member("fp32_peak", machine.fp32_operations_per_second);
  json.member("int8_peak", machine.int8_operations_per_second);
  json.member("bandwidth", machine.bytes_per_second);
  json.member("share_of_fp32_peak",
              share(report.operations / median, machine.fp32_operations_per_second));
  json.member("share_of_int8_peak",
              share(report.operations / median, machine.int8_operations_per_second));
  json.member("share_of_bandwidth", share(report.bytes / median, machine.bytes_per_second));
  json.member("peak_memory_bytes", report.peak_memory_bytes);
  json.member("seconds", report.seconds);
  json.end_object();
  return json.text() + "\n";
}

}  // namespace pippin::cli
