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
  option("--temp,--temperature", arguments.temperature, "T",
         "Temperature; 0: always the most likely token");
  option("--top-k", arguments.top_k, "K", "Sample from the K most likely tokens; 0: from all");
  option("--top-p", arguments.top_p, "P", "... from the fewest whose probabilities sum to P");
  option("--min-p", arguments.min_p, "P", "... from those at least P times the most likely one");
  option("--typical-p,--typical", arguments.typical_p, "P",
         "... from the most typical ones whose probabilities sum to P");
  option("--xtc-probability", arguments.xtc_probability, "P",
         "With probability P, exclude all top choices but the last");
  option("--xtc-threshold", arguments.xtc_threshold, "P",
         "Top choices are those at least P likely (0.1)");
  option("--mirostat-tau,--mirostat-ent", arguments.mirostat_tau, "BITS",
         "Keep the surprisal per token near BITS (Mirostat 2.0); 0: off");
  option("--mirostat-eta,--mirostat-lr", arguments.mirostat_eta, "R",
         "Learning rate of Mirostat (0.1)");
  option("--repetition-penalty,--repeat-penalty", arguments.repetition_penalty, "R",
         "Make tokens of prompt and text less likely; 1: off");
  option("--presence-penalty", arguments.presence_penalty, "X",
         "Subtract X from the logits of tokens that occur in the text");
  option("--frequency-penalty", arguments.frequency_penalty, "X",
         "... X for each time that they occur");
  option("--penalty-last-n,--repeat-last-n", arguments.penalty_last_n, "N",
         "These three look at the last N tokens; 0: all");
  option("--dry-multiplier", arguments.dry_multiplier, "X",
         "Penalty for extending a repetition (DRY); 0: off");
  option("--dry-base", arguments.dry_base, "X",
         "The penalty grows by this factor per token (1.75)");
  option("--dry-allowed-length", arguments.dry_allowed_length, "N",
         "... for repetitions of at least N tokens (2)");
  option("--dry-last-n,--dry-penalty-last-n", arguments.dry_last_n, "N",
         "Look for repetitions in the last N tokens; 0: all");
  option("--dry-breaker,--dry-sequence-breaker", arguments.dry_breakers, "STRING",
         "Repetitions end at tokens with STRING (newline, colon, quote, asterisk); repeatable")
      ->allow_extra_args(false);
  option("--logit-bias", arguments.biases, "ID=BIAS",
         "Add BIAS to a token's logit; false: never choose the token; repeatable")
      ->allow_extra_args(false);
  option("--seed", arguments.seed, "N", "Seed: the same gives the same text (default: random)")
      ->check(between(0));
}

}  // namespace pippin::cli
