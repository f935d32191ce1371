// The gates of a release.
#include <algorithm>

#include <fmt/format.h>

#include "pippin/cli/release/release_report.h"

namespace pippin::cli {
namespace {

bool has_result(const StepRecord& record, VariantReport& report) {
  if (record.result) return true;
  report.failures.push_back(
      {ReleaseStatus::Failed, fmt::format("{}: status {}: {}", record.name, record.status,
                                          record.error.empty() ? "no report" : record.error)});
  return false;
}

}  // namespace

void check_verify(const StepRecord& record, VariantReport& report) {
  if (!has_result(record, report)) return;
  for (const std::string& line : record.result->get_strings("broken")) {
    report.failures.push_back({ReleaseStatus::Disagrees, fmt::format("{}: {}", record.name, line)});
  }
}

void check_doctor(const StepRecord& record, const DoctorGate& gate, VariantReport& report) {
  if (!has_result(record, report) || gate.fail_on == "never") return;
  for (const Json& part : record.result->at("parts").elements()) {
    for (const Json& finding : part.at("findings").elements()) {
      const std::string severity = finding.get_string("severity");
      const std::string rule = finding.get_string("rule");
      const bool counts =
          severity == "error" || (severity == "warning" && gate.fail_on == "warning");
      const bool allowed =
          std::find(gate.allowed.begin(), gate.allowed.end(), rule) != gate.allowed.end();
      if (!counts || allowed) continue;
      report.failures.push_back(
          {ReleaseStatus::Unhealthy,
           fmt::format("{}: {}: {} {}: {}", record.name, part.get_string("name"), severity, rule,
                       finding.get_string("what"))});
    }
  }
}

void check_bench(const StepRecord& record, std::optional<double> least, VariantReport& report) {
  if (!has_result(record, report) || !least) return;
  for (const Json& result : record.result->at("results").elements()) {
    if (result.get_int("n_gen") == 0 || result.get_int("n_parallel") != 1) continue;
    const double speed = result.get_float("median_tokens_per_second");
    if (speed >= *least) continue;
    report.failures.push_back(
        {ReleaseStatus::Slow, fmt::format("{}: {}: {:.2f} tokens per second, at least {}",
                                          record.name, result.get_string("test"), speed, *least)});
  }
}

}  // namespace pippin::cli
