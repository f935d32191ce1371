#include "pippin/cli/options/sampling_options.h"

#include <charconv>
#include <cmath>

#include <CLI/CLI.hpp>

#include "pippin/base/error.h"
#include "pippin/base/numbers/number.h"
#include "pippin/cli/options/options.h"

namespace pippin::cli {
namespace {

// "ID=BIAS" or, as in OpenAI's API and llama.cpp, ID+BIAS and ID-BIAS.
std::pair<int32_t, double> parse_bias(const std::string& text) {
  const char* end = text.data() + text.size();
  int32_t id = 0;
  const auto [next, problem] = std::from_chars(text.data(), end, id);
  if (problem == std::errc() && id >= 0 && next < end &&
      (*next == '=' || *next == '+' || *next == '-')) {
    const std::string value(*next == '-' ? next : next + 1, end);
    if (value == "false" || value == "-inf") return {id, -INFINITY};
    double bias = 0;
    if (parse_number(value, bias) && std::isfinite(bias)) return {id, bias};
  }
  fail(ErrorCode::InvalidArgument,
       "--logit-bias: \"{}\" is not of the form ID=BIAS (a number, or false for never)", text);
}

}  // namespace

app::SamplingChoice SamplingArguments::choice() const {
  auto result = static_cast<const app::SamplingChoice&>(*this);
  for (const std::string& bias : biases) {
    const auto [id, value] = parse_bias(bias);
    result.logit_bias.insert_or_assign(id, value);
  }
  return result;
}

void add_sampling_options(CLI::App& command, SamplingArguments& arguments) {
  const auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    return command.add_option(name, value, help)->type_name(type);
  };
  for (const runtime::SamplingOption& known : runtime::sampling_options()) {
    std::visit(
        [&](const auto& of) { option(known.flags, arguments.*of.given, known.symbol, known.help); },
        known.member);
  }
  option("--dry-breaker,--dry-sequence-breaker", arguments.dry_breakers, "STRING",
         "Repetitions end at tokens with STRING (newline, colon, quote, asterisk); repeatable")
      ->allow_extra_args(false);
  option("--logit-bias", arguments.biases, "ID=BIAS",
         "Add BIAS to a token's logit; false: never choose the token; repeatable")
      ->allow_extra_args(false);
  option("--seed", arguments.seed, "N", "Seed: the same gives the same text (default: random)")
      ->check(seed_number());
}

}  // namespace pippin::cli
