#include "pippin/cli/bench/bench_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "pippin/app/facts/date.h"
#include "pippin/base/text.h"
#include "pippin/io/json.h"

namespace pippin::cli {
namespace {

using runtime::BenchmarkCase;
using runtime::CaseSummary;
using runtime::MachineReading;
using runtime::MeanDeviation;
using Kind = BenchmarkCase::Kind;

std::string plus_minus(const MeanDeviation& value) {
  return fmt::format("{:.2f} ± {:.2f}", value.mean, value.deviation);
}

// Returns "45.2 (38.1 to 51.0)", in 10^9.
std::string range_of(const BenchReport& report, double MachineReading::*member) {
  std::vector<double> values;
  for (const MachineReading& reading : report.readings) values.push_back(reading.*member);
  return fmt::format("{:.1f} ({:.1f} to {:.1f})", runtime::percentile(values, 0.5) / 1e9,
                     runtime::percentile(values, 0) / 1e9, runtime::percentile(values, 1) / 1e9);
}

std::string case_row(const BenchmarkCase& one, const CaseSummary& s) {
  std::string times = "", quantiles = "", rate = "", share = "";
  if (one.kind == Kind::Decode) {
    times = plus_minus(s.milliseconds_per_token);
    quantiles = fmt::format("{:.2f} / {:.2f}", s.median_milliseconds, s.p90_milliseconds);
    rate = plus_minus(s.rate_per_token);
    if (s.median_share > 0) {
      share = fmt::format("{:.1f} % of {:.1f} GB/s", s.median_share * 100,
                          s.median_bytes_per_second / 1e9);
    }
  } else {
    times = plus_minus(s.first_token_milliseconds);
    quantiles = fmt::format("{:.2f} / {:.2f}", s.median_first_token_milliseconds,
                            s.p90_first_token_milliseconds);
    if (s.median_share > 0) {
      share = fmt::format("{:.1f} % of {:.0f} GOP/s", s.median_share * 100,
                          s.median_int8_operations / 1e9);
    }
  }
  return fmt::format("| {} | {} | {:.2f} | {:.2f} | {} | {} | {} | {} | {} |\n", one.name(),
                     plus_minus(s.tokens_per_second), s.median_tokens_per_second,
                     s.tokens_over_elapsed, times, quantiles, rate, share,
                     s.joules_per_token ? fmt::format("{:.3f}", *s.joules_per_token) : "");
}

void write_deviation(JsonWriter& json, const char* name, const MeanDeviation& value) {
  json.key(name).begin_object();
  json.member("mean", value.mean).member("deviation", value.deviation).end_object();
}

void write_sample(JsonWriter& json, const runtime::BenchmarkSample& sample) {
  json.begin_object().member("seconds", sample.seconds);
  if (sample.first_token_seconds > 0) {
    json.member("first_token_seconds", sample.first_token_seconds);
  }
  if (!sample.token_seconds.empty()) json.member("token_seconds", sample.token_seconds);
  json.member("bytes_per_second", sample.machine.bytes_per_second);
  json.member("int8_operations_per_second", sample.machine.int8_operations_per_second);
  if (sample.joules) json.member("joules", *sample.joules);
  json.end_object();
}

void write_case(JsonWriter& json, const BenchmarkCase& one, const app::ModelCost& model_cost) {
  const runtime::TokenCost cost = model_cost.of(one);
  const CaseSummary s = summarize(one, cost);
  json.begin_object();
  json.member("test", one.name());
  json.member("n_prompt", one.kind == Kind::Prefill ? one.tokens : 0);
  json.member("n_gen", one.kind == Kind::Decode ? one.tokens : 0);
  json.member("n_depth", one.depth);
  json.member("n_parallel", one.parallel);
  write_deviation(json, "tokens_per_second", s.tokens_per_second);
  const auto sequences = static_cast<double>(one.parallel);
  write_deviation(
      json, "tokens_per_second_per_sequence",
      {s.tokens_per_second.mean / sequences, s.tokens_per_second.deviation / sequences});
  json.member("median_tokens_per_second", s.median_tokens_per_second);
  json.member("tokens_over_elapsed", s.tokens_over_elapsed);
  if (one.kind == Kind::Decode) {
    write_deviation(json, "rate_per_token", s.rate_per_token);
    write_deviation(json, "milliseconds_per_token", s.milliseconds_per_token);
    json.member("median_milliseconds_per_token", s.median_milliseconds);
    json.member("p90_milliseconds_per_token", s.p90_milliseconds);
    json.member("bytes_per_token", cost.bytes);
    json.member("operations_per_token", cost.operations);
    json.member("share_of_bandwidth", s.median_share);
  } else {
    write_deviation(json, "first_token_milliseconds", s.first_token_milliseconds);
    json.member("median_first_token_milliseconds", s.median_first_token_milliseconds);
    json.member("p90_first_token_milliseconds", s.p90_first_token_milliseconds);
    json.member("operations_per_token", cost.operations);
    json.member("share_of_int8_peak", s.median_share);
  }
  json.member("median_bytes_per_second", s.median_bytes_per_second);
  json.member("median_int8_operations_per_second", s.median_int8_operations);
  if (s.joules_per_token) json.member("joules_per_token", *s.joules_per_token);
  if (s.watts) json.member("watts", *s.watts);
  json.key("samples").begin_array();
  for (const runtime::BenchmarkSample& sample : one.samples) write_sample(json, sample);
  json.end_array().end_object();
}

}  // namespace

std::string bench_lines(const BenchReport& report) {
  std::string lines;
  const auto line = [&]<typename... Args>(fmt::format_string<Args...> format, Args&&... args) {
    lines += fmt::format(format, std::forward<Args>(args)...) + "\n";
  };
  line("Model         : {} ({}), {:.3f} B weights, context {}", report.model, report.family,
       static_cast<double>(report.cost.parameters) / 1e9, report.context);
  line("Machine       : {} ({}), {} thread{}", report.cpu, report.features, report.threads,
       report.threads == 1 ? "" : "s");
  if (!report.is_on_cpu()) line("Device        : {}", report.device);
  if (!report.readings.empty()) {
    line("Read          : {} GB/s, median and range of {} readings",
         range_of(report, &MachineReading::bytes_per_second), report.readings.size());
  }
  const bool has_peak =
      std::any_of(report.readings.begin(), report.readings.end(),
                  [](const auto& reading) { return reading.int8_operations_per_second > 0; });
  if (has_peak) {
    line("Int8 peak     : {} GOP/s", range_of(report, &MachineReading::int8_operations_per_second));
  }
  line("First load    : {:.3f} s, a token after {:.3f} s{}", report.first.load_seconds,
       report.first.first_token_seconds, report.dropped ? "" : " (files were in memory)");
  line("Second load   : {:.3f} s, a token after {:.3f} s", report.second.load_seconds,
       report.second.first_token_seconds);
  line("Peak memory   : {}", format_bytes(report.peak_memory_bytes));
  line("Energy        : {}", report.energy);
  line("Weights       : {} read for a token{}", format_bytes(report.cost.weight_bytes),
       report.cost.weight_bytes == report.package_weight_bytes
           ? ""
           : fmt::format(", {} in the package", format_bytes(report.package_weight_bytes)));
  lines +=
      "\n| test | t/s | median | over all | ms: token, or first token | p50 / p90 | 1 / ms | of "
      "the "
      "limit | J / token |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const BenchmarkCase& one : report.cases) {
    lines += case_row(one, summarize(one, report.cost.of(one)));
  }
  const bool together = std::any_of(report.cases.begin(), report.cases.end(),
                                    [](const auto& one) { return one.parallel > 1; });
  if (together) {
    line("\nxN: N sequences together; t/s of all of them, ms and 1 / ms of each one.");
  }
  if (report.drafts) {
    const auto& drafts = *report.drafts;
    line(
        "\nDrafts        : {} of {} tokens accepted, {:.2f} tokens a pass; {:.2f} t/s, {:.2f} "
        "without: {:.2f}x",
        drafts.accepted, drafts.drafted, drafts.tokens_per_pass(), drafts.drafted_tokens_per_second,
        drafts.plain_tokens_per_second, drafts.ratio);
  }
  line(
      "\nt/s: tokens over time, mean and deviation of {} repetitions, as llama-bench. 1 / ms: of "
      "each "
      "token, as coreml-llm-cli.\n",
      report.repetitions);
  return lines + readme_row(report);
}

std::string readme_row(const BenchReport& report) {
  std::string rate = "-", power = "-";
  const auto decode = std::find_if(report.cases.begin(), report.cases.end(), [](const auto& one) {
    return one.kind == Kind::Decode && one.parallel == 1;
  });
  if (decode != report.cases.end()) {
    const CaseSummary summary = summarize(*decode, {});
    rate = plus_minus(summary.rate_per_token);
    if (summary.watts) power = fmt::format("{:.1f}W", *summary.watts);
  }
  return fmt::format(
      "|Variant|1st Load Time|2nd+ Load Time|Tokens/Sec|Power|\n|--|--|--|--|--|\n"
      "|{}|{:.2f}s|{:.2f}s|{}|{}|\n",
      report.cpu, report.first.load_seconds, report.second.load_seconds, rate, power);
}

std::string bench_json(const BenchReport& report) {
  JsonWriter json(2);
  const auto load = [&](const char* name, const LoadTime& time) {
    json.key(name).begin_object();
    json.member("load_seconds", time.load_seconds);
    json.member("first_token_seconds", time.first_token_seconds).end_object();
  };
  json.begin_object();
  json.member("date", app::utc_now());
  json.member("model", report.model).member("family", report.family);
  json.member("cpu", report.cpu).member("features", report.features);
  json.member("device", report.device);
  json.member("threads", report.threads);
  json.member("context", report.context).member("seed", report.seed);
  json.member("repetitions", report.repetitions);
  load("first_load", report.first);
  json.member("first_load_reads_disk", report.dropped);
  load("second_load", report.second);
  json.member("peak_memory_bytes", report.peak_memory_bytes);
  json.member("energy", report.energy);
  json.member("parameters", report.cost.parameters);
  json.member("weight_bytes_per_token", report.cost.weight_bytes);
  json.member("package_weight_bytes_per_token", report.package_weight_bytes);
  json.key("readings").begin_array();
  for (const MachineReading& reading : report.readings) {
    json.begin_object().member("bytes_per_second", reading.bytes_per_second);
    json.member("int8_operations_per_second", reading.int8_operations_per_second).end_object();
  }
  json.end_array();
  json.key("results").begin_array();
  for (const BenchmarkCase& one : report.cases) write_case(json, one, report.cost);
  json.end_array();
  if (report.drafts) {
    const auto& drafts = *report.drafts;
    json.key("drafts").begin_object();
    json.member("tokens", drafts.tokens).member("drafted_tokens", drafts.drafted);
    json.member("accepted_tokens", drafts.accepted);
    json.member("tokens_per_pass", drafts.tokens_per_pass());
    json.member("tokens_per_second", drafts.drafted_tokens_per_second);
    json.member("tokens_per_second_without", drafts.plain_tokens_per_second);
    json.member("median_ratio", drafts.ratio).end_object();
  }
  json.end_object();
  return json.text() + "\n";
}

}  // namespace pippin::cli
