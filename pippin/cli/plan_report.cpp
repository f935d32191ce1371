#include "pippin/cli/plan_report.h"

#include <limits>

#include <fmt/format.h>

#include "pippin/base/text.h"
#include "pippin/io/json.h"

namespace pippin::cli {
namespace {

std::string parts_of(const app::ModelShape& shape, const app::MachineShare& share) {
  const std::string& first = shape.parts[share.first_part].name;
  if (share.end_part - share.first_part == 1) return first;
  return fmt::format("{} to {}", first, shape.parts[share.end_part - 1].name);
}

std::string duration(double seconds) {
  if (seconds < 120) return fmt::format("{:.1f} s", seconds);
  if (seconds < 2 * 3600) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 2 * 86400) return fmt::format("{:.1f} h", seconds / 3600);
  return fmt::format("{:.1f} days", seconds / 86400);
}

}  // namespace

std::string plan_text(const app::ModelShape& shape, const app::CapacityPlan& plan,
                      const app::Machines& machines, const app::Load& load) {
  std::string text = fmt::format(
      "{} of {} machines hold the model{}\n\n| machine | parts | weights | caches "
      "|\n|---|---|---|---|\n",
      plan.machines_per_copy, machines.count,
      plan.copies > 1 ? fmt::format(": {} copies, each with requests of its own", plan.copies)
                      : "");
  for (size_t i = 0; i < plan.shares.size(); ++i) {
    const app::MachineShare& share = plan.shares[i];
    const int64_t width = machines.tensor_parallel, first = static_cast<int64_t>(i) * width;
    const std::string which =
        width == 1 ? fmt::format("{}", first) : fmt::format("{} to {}", first, first + width - 1);
    text += fmt::format("| {} | {} | {} | {} |\n", which, parts_of(shape, share),
                        format_bytes(share.weight_bytes), format_bytes(share.cache_bytes));
  }
  text += fmt::format("\none stream        {:.2f} tokens/s\n", plan.one_stream);
  const auto known = [](double value, const std::string& shown) {
    return value > 0 ? shown : std::string("unknown: no report of such a test (--bench)");
  };
  text += fmt::format(
      "{:<18}{}\n", fmt::format("{} streams", load.streams),
      known(plan.many_streams,
            fmt::format("{:.2f} tokens/s of a copy, {:.2f} of all machines", plan.many_streams,
                        plan.many_streams * static_cast<double>(plan.copies))));
  text += fmt::format(
      "{:<18}{}\n", "prompts",
      known(plan.prompt, fmt::format("{:.1f} tokens/s of a copy, the first token "
                                     "of a prompt of {} after {}",
                                     plan.prompt, load.prompt, duration(plan.first_token))));
  if (plan.machines_per_copy > 1) {
    text += fmt::format("{:<18}{} in {:.0f} messages for a token of one stream\n", "network",
                        format_bytes(static_cast<uint64_t>(plan.sent_bytes_per_token)),
                        plan.messages_per_token);
  }
  if (load.requests > 0) {
    text += fmt::format(
        "{:<18}{}\n", fmt::format("{} requests", load.requests),
        known(plan.corpus_seconds,
              fmt::format("{}{}", duration(plan.corpus_seconds),
                          machines.price_per_hour > 0
                              ? fmt::format(", {:.2f} for the machines", plan.corpus_cost)
                              : "")));
  }
  return text;
}

std::string plan_json(const app::ModelShape& shape, const app::CapacityPlan& plan) {
  JsonWriter json;
  json.begin_object().member("machines_per_copy", plan.machines_per_copy);
  json.member("copies", plan.copies);
  json.key("machines").begin_array();
  for (const app::MachineShare& share : plan.shares) {
    json.begin_object().key("parts").begin_array();
    for (size_t i = share.first_part; i < share.end_part; ++i) json.value(shape.parts[i].name);
    json.end_array().member("weight_bytes", share.weight_bytes);
    json.member("cache_bytes", share.cache_bytes).end_object();
  }
  // Null: unknown.
  const auto member = [&](const char* name, double value) {
    json.member(name, value > 0 ? value : std::numeric_limits<double>::quiet_NaN());
  };
  json.end_array().member("one_stream_tokens_per_second", plan.one_stream);
  member("streams_tokens_per_second", plan.many_streams);
  member("prompt_tokens_per_second", plan.prompt);
  member("first_token_seconds", plan.first_token);
  json.member("network_bytes_per_token", plan.sent_bytes_per_token);
  json.member("messages_per_token", plan.messages_per_token);
  member("corpus_seconds", plan.corpus_seconds);
  member("corpus_cost", plan.corpus_cost);
  return json.end_object().text() + "\n";
}

}  // namespace pippin::cli
