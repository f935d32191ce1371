// The report of a release: JSON for programs, Markdown for people, the exit status.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pippin/cli/release/recipe.h"
#include "pippin/cli/release/step_records.h"

namespace pippin::cli {

// The exit status of a release. An error of a step counts before gates, and gates in this order.
enum class ReleaseStatus {
  Passed = 0,
  Failed = 1,     // a step ended with an error
  Disagrees = 6,  // a limit of verify
  Unhealthy = 7,  // a finding of doctor
  Slow = 8,       // the limit of bench
};

struct GateFailure {
  ReleaseStatus status;
  std::string line;  // "int8: mean KL divergence 0.2, limit 0.05"
};

struct VariantReport {
  Variant variant;
  std::vector<StepRecord> steps;
  std::vector<GateFailure> failures;
};

struct ReleaseReport {
  std::string source, commit, repo, version, date;
  std::vector<VariantReport> variants;
  std::vector<StepRecord> steps;      // pull, card, push
  std::vector<GateFailure> failures;  // of those

  ReleaseStatus status() const;
  std::vector<GateFailure> all_failures() const;
};

// Add a gate's findings in a step's record; an error if the step has no result.
void check_verify(const StepRecord& record, VariantReport& report);
void check_doctor(const StepRecord& record, const DoctorGate& gate, VariantReport& report);
void check_bench(const StepRecord& record, std::optional<double> least, VariantReport& report);

std::string release_json(const ReleaseReport& report);
std::string release_markdown(const ReleaseReport& report);

}  // namespace pippin::cli
