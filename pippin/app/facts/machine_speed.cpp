#include "pippin/app/facts/machine_speed.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "pippin/base/error.h"
#include "pippin/io/json.h"

namespace pippin::app {
namespace {

double report_number(const Json& result, const std::string& key, const std::string& where) {
  if (!result.find(key)) {
    fail(ErrorCode::InvalidFile, "{}: a result has no {}", where, key);
  }
  return result.get_float(key);
}

}  // namespace

double MachineSpeed::seconds_per_operation(double sequences) const {
  if (lanes.empty()) return 0;
  const auto at = [&](size_t i) { return 1 / lanes[i].operations_per_second; };
  if (sequences <= lanes.front().sequences) return at(0);
  for (size_t i = 1; i < lanes.size(); ++i) {
    if (sequences > lanes[i].sequences) continue;
    const double share =
        (sequences - lanes[i - 1].sequences) / (lanes[i].sequences - lanes[i - 1].sequences);
    return at(i - 1) + share * (at(i) - at(i - 1));
  }
  return at(lanes.size() - 1);
}

double MachineSpeed::read_rate(double bandwidth) const {
  if (bandwidth <= 0 || memory_bandwidth <= 0) return bytes_per_second;
  return bytes_per_second * bandwidth / memory_bandwidth;
}

MachineSpeed read_speed(const std::string& text, const std::string& where) {
  const Json report = Json::parse(text, where);
  if (!report.is_object() || !report.find("results")) {
    fail(ErrorCode::InvalidFile, "{}: not a report of pippin bench --json", where);
  }
  MachineSpeed speed;
  std::map<int64_t, double> steps;  // seconds, by number of sequences
  double bytes = 0, single_operations = 0;
  for (const Json& result : report.at("results").elements()) {
    if (result.get_int_or("n_depth", 0) != 0) continue;
    const double rate = report_number(result, "median_tokens_per_second", where);
    if (rate <= 0) continue;
    if (result.get_int_or("n_prompt", 0) > 0) {
      speed.prompt_operations_per_second =
          std::max(speed.prompt_operations_per_second,
                   rate * report_number(result, "operations_per_token", where));
      continue;
    }
    const int64_t parallel = result.get_int_or("n_parallel", 1);
    steps[parallel] = static_cast<double>(parallel) / rate;
    if (parallel != 1) continue;
    bytes = report_number(result, "bytes_per_token", where);
    single_operations = report_number(result, "operations_per_token", where);
    speed.memory_bandwidth = result.get_float_or("median_bytes_per_second", 0);
  }
  if (!steps.contains(1) || bytes <= 0) {
    fail(ErrorCode::InvalidArgument,
         "{}: has no decode of one sequence at depth 0; measure with --parallel 1,8 -n 32", where);
  }
  speed.bytes_per_second = bytes / steps[1];
  for (const auto& [parallel, seconds] : steps) {
    if (parallel == 1 || single_operations <= 0) continue;
    const double more = std::max(seconds - steps[1], seconds * 1e-3);
    speed.lanes.push_back({static_cast<double>(parallel),
                           static_cast<double>(parallel - 1) * single_operations / more});
  }
  return speed;
}

MachineSpeed speed_of_bandwidth(double bytes_per_second) {
  MachineSpeed speed;
  speed.bytes_per_second = bytes_per_second;
  speed.memory_bandwidth = bytes_per_second;
  return speed;
}

}  // namespace pippin::app
