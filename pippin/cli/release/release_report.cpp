#include "pippin/cli/release/release_report.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pippin::cli {
namespace {

void write_step(JsonWriter& writer, const StepRecord& step) {
  writer.begin_object()
      .member("step", step.name)
      .member("command", step.command)
      .member("status", step.status)
      .member("date", step.date)
      .member("seconds", step.seconds)
      .member("reused", step.is_reused);
  if (!step.error.empty()) writer.member("error", step.error);
  if (step.result) writer.member("result", *step.result);
  writer.end_object();
}

void write_failures(JsonWriter& writer, const std::vector<GateFailure>& failures) {
  writer.key("failures").begin_array();
  for (const GateFailure& failure : failures) writer.value(failure.line);
  writer.end_array();
}

const StepRecord* find_step(const VariantReport& report, const char* step) {
  for (const StepRecord& record : report.steps) {
    if (record.name == fmt::format("{}.{}", report.variant.name, step) && record.result) {
      return &record;
    }
  }
  return nullptr;
}

std::string agreement_of(const VariantReport& report) {
  const StepRecord* step = find_step(report, "verify");
  if (step == nullptr) return " | ";
  return fmt::format("{:.5f} | {:.2f} %", step->result->get_float("mean_kl"),
                     step->result->get_float("top1") * 100);
}

std::string health_of(const VariantReport& report) {
  const StepRecord* step = find_step(report, "doctor");
  if (step == nullptr) return "";
  return fmt::format("{} errors, {} warnings", step->result->get_int("errors"),
                     step->result->get_int("warnings"));
}

std::string speed_of_variant(const VariantReport& report) {
  const StepRecord* step = find_step(report, "bench");
  if (step == nullptr || !step->result->has("results")) return "";
  for (const Json& result : step->result->at("results").elements()) {
    if (result.get_int("n_gen") == 0) continue;
    return fmt::format("{:.1f}", result.get_float("median_tokens_per_second"));
  }
  return "";
}

std::string size_of_variant(const VariantReport& report) {
  const StepRecord* step = find_step(report, "convert");
  if (step == nullptr) return "";
  return fmt::format("{:.1f} MB", static_cast<double>(step->result->get_int("bytes")) / 1e6);
}

}  // namespace

std::vector<GateFailure> ReleaseReport::all_failures() const {
  std::vector<GateFailure> all = failures;
  for (const VariantReport& variant : variants) {
    all.insert(all.end(), variant.failures.begin(), variant.failures.end());
  }
  return all;
}

ReleaseStatus ReleaseReport::status() const {
  const std::vector<GateFailure> all = all_failures();
  if (all.empty()) return ReleaseStatus::Passed;
  return std::min_element(
             all.begin(), all.end(),
             [](const GateFailure& a, const GateFailure& b) { return a.status < b.status; })
      ->status;
}

std::string release_json(const ReleaseReport& report) {
  JsonWriter writer(1);
  writer.begin_object()
      .member("passed", report.status() == ReleaseStatus::Passed)
      .member("status", static_cast<int>(report.status()))
      .member("date", report.date)
      .member("version", report.version)
      .member("source", report.source)
      .member("commit", report.commit)
      .member("repo", report.repo);
  write_failures(writer, report.all_failures());
  writer.key("variants").begin_array();
  for (const VariantReport& variant : report.variants) {
    writer.begin_object()
        .member("name", variant.variant.name)
        .member("path", variant.variant.path())
        .member("passed", variant.failures.empty());
    write_failures(writer, variant.failures);
    writer.key("steps").begin_array();
    for (const StepRecord& step : variant.steps) write_step(writer, step);
    writer.end_array().end_object();
  }
  writer.end_array().key("steps").begin_array();
  for (const StepRecord& step : report.steps) write_step(writer, step);
  return writer.end_array().end_object().text() + "\n";
}

std::string release_markdown(const ReleaseReport& report) {
  std::string text = fmt::format(
      "### Release of {}{}: {}\n\n| variant | size | KL mean | same token | doctor | tokens/s | "
      "gates |\n|---|---|---|---|---|---|---|\n",
      report.source, report.repo.empty() ? "" : " as " + report.repo,
      report.status() == ReleaseStatus::Passed ? "passed" : "failed");
  for (const VariantReport& variant : report.variants) {
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", variant.variant.path(),
                        size_of_variant(variant), agreement_of(variant), health_of(variant),
                        speed_of_variant(variant), variant.failures.empty() ? "passed" : "failed");
  }
  const std::vector<GateFailure> failures = report.all_failures();
  if (!failures.empty()) text += "\n";
  for (const GateFailure& failure : failures) text += fmt::format("- {}\n", failure.line);
  for (const StepRecord& step : report.steps) {
    if (step.name != "push" || !step.result) continue;
    const std::string pull_request = step.result->get_string_or("pull_request", "");
    const std::string url =
        pull_request.empty() ? step.result->get_string_or("url", "") : pull_request;
    text += url.empty() ? "\nNothing had to be pushed.\n" : fmt::format("\nPushed: {}\n", url);
  }
  return text + fmt::format("\n{}, {}\n", report.version, report.date);
}

}  // namespace pippin::cli
