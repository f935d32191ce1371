#include "pippin/cli/bench/report.h"

#include <algorithm>

#include <fmt/format.h>

#include "pippin/base/text.h"
#include "pippin/io/json.h"

namespace pippin::cli {

using runtime::StopReason;

std::string statistics_lines(const RunReport& report, bool verbose) {
  const runtime::Timings& timings = report.result.timings;
  const runtime::Statistics statistics = runtime::summarize(timings);
  std::string lines;
  const auto line = [&]<typename... Args>(fmt::format_string<Args...> format, Args&&... args) {
    lines += fmt::format(format, std::forward<Args>(args)...) + "\n";
  };
  line("Compile + Load: {:.2f} sec", report.load_seconds);
  line("Prompt        : {:.2f} ms", timings.prompt_seconds * 1000);
  if (!timings.token_seconds.empty()) {
    line("Generate      : {:.2f} +/- {:.2f} ms / token", statistics.milliseconds_per_token.mean,
         statistics.milliseconds_per_token.deviation);
    line("                {:.2f} +/- {:.2f} token / sec", statistics.tokens_per_second.mean,
         statistics.tokens_per_second.deviation);
    line("Elapsed       : {:.2f} token / sec ({} tokens in {:.2f} sec)",
         statistics.tokens_over_elapsed, timings.token_seconds.size(), timings.generate_seconds);
  }
  if (const auto& result = report.result; result.drafted > 0) {
    line("Drafts        : {} of {} tokens accepted", result.accepted, result.drafted);
  }
  line("First token   : {:.2f} ms ({} prompt tokens, {:.2f} token / sec)",
       timings.first_token_seconds * 1000, timings.prompt_tokens,
       statistics.prompt_tokens_per_second);
  if (report.cached_tokens >= 0) {
    line("Prompt cache  : {} of {} tokens", report.cached_tokens, report.prompt_ids.size());
  }
  line("Peak memory   : {}", format_bytes(report.peak_memory_bytes));
  if (report.result.shifts != 0) lines += overflow_lines(report);
  const StopReason reason = report.result.reason;
  // A text that ends early is always reported.
  if (verbose || reason == StopReason::ContextFull || reason == StopReason::Cancelled) {
    line("Stop          : {}", to_string(reason));
  }
  if (verbose) {
    line("Seed          : {}", report.seed);
    line("Threads       : {}", report.threads);
  }
  return lines;
}

std::string overflow_lines(const RunReport& report) {
  const int64_t shifts = report.result.shifts;
  if (shifts > 0) {
    return fmt::format("Context full  : the oldest of {} tokens were forgotten {} time{}\n",
                       report.context, shifts, shifts == 1 ? "" : "s");
  }
  if (shifts < 0) {
    return fmt::format("Context full  : the tokens before the last {} drop out\n", report.context);
  }
  if (report.result.reason == StopReason::ContextFull) {
    return fmt::format("Stop          : {} ({} tokens)\n", to_string(StopReason::ContextFull),
                       report.context);
  }
  return "";
}

std::string report_json(const RunReport& report) {
  const runtime::Timings& timings = report.result.timings;
  const runtime::Statistics statistics = runtime::summarize(timings);
  JsonWriter json(2);
  const auto deviation = [&](std::string_view name, const runtime::MeanDeviation& value) {
    json.key(name).begin_object();
    json.member("mean", value.mean).member("deviation", value.deviation).end_object();
  };
  json.begin_object();
  json.member("model", report.model);
  json.member("text", report.text);
  json.member("stop", std::string(to_string(report.result.reason)));
  json.member("prompt_ids", report.prompt_ids);
  json.member("ids", report.result.ids);
  json.member("seed", report.seed);
  json.member("threads", report.threads);
  json.member("context", report.context);
  json.member("shifts", report.result.shifts);
  json.key("statistics").begin_object();
  json.member("load_seconds", report.load_seconds);
  json.member("prompt_tokens", timings.prompt_tokens);
  json.member("cached_tokens", std::max<int64_t>(report.cached_tokens, 0));
  json.member("prompt_seconds", timings.prompt_seconds);
  json.member("prompt_tokens_per_second", statistics.prompt_tokens_per_second);
  json.member("first_token_seconds", timings.first_token_seconds);
  json.member("tokens", report.result.ids.size());
  json.member("drafted_tokens", report.result.drafted);
  json.member("accepted_tokens", report.result.accepted);
  deviation("milliseconds_per_token", statistics.milliseconds_per_token);
  deviation("tokens_per_second", statistics.tokens_per_second);
  json.member("tokens_over_elapsed", statistics.tokens_over_elapsed);
  json.member("peak_memory_bytes", report.peak_memory_bytes);
  json.end_object().end_object();
  return json.text() + "\n";
}

}  // namespace pippin::cli
