#include "pippin/app/sampling_choice.h"

#include <random>

#include "pippin/base/error.h"

namespace pippin::app {
namespace {

// The tokens whose text contains one of the strings.
std::vector<int32_t> tokens_with(const Tokenizer& tokenizer,
                                 const std::vector<std::string>& strings) {
  std::vector<int32_t> ids;
  const auto size = static_cast<int32_t>(tokenizer.vocab_size());
  for (int32_t id = 0; id < size; ++id) {
    const std::string text = tokenizer.decode({&id, 1}, false);
    for (const std::string& string : strings) {
      if (text.find(string) == std::string::npos) continue;
      ids.push_back(id);
      break;
    }
  }
  return ids;
}

}  // namespace

runtime::SamplingOptions SamplingChoice::without_tokens(
    const runtime::SamplingOptions& defaults) const {
  runtime::SamplingOptions options = defaults;
  const auto take = [](auto& option, const auto& given) {
    if (given) option = *given;
  };
  take(options.temperature, temperature);
  take(options.top_k, top_k);
  take(options.top_p, top_p);
  take(options.min_p, min_p);
  take(options.typical_p, typical_p);
  take(options.xtc_probability, xtc_probability);
  take(options.xtc_threshold, xtc_threshold);
  take(options.mirostat_tau, mirostat_tau);
  take(options.mirostat_eta, mirostat_eta);
  take(options.repetition_penalty, repetition_penalty);
  take(options.presence_penalty, presence_penalty);
  take(options.frequency_penalty, frequency_penalty);
  take(options.penalty_last_n, penalty_last_n);
  take(options.dry_multiplier, dry_multiplier);
  take(options.dry_base, dry_base);
  take(options.dry_allowed_length, dry_allowed_length);
  take(options.dry_last_n, dry_last_n);
  for (const auto& [id, bias] : logit_bias) options.logit_bias.insert_or_assign(id, bias);
  options.seed = seed ? *seed : std::random_device()();
  return options;
}

runtime::SamplingOptions SamplingChoice::over(const runtime::SamplingOptions& defaults,
                                              const Tokenizer& tokenizer) const {
  runtime::SamplingOptions options = without_tokens(defaults);
  options.check();
  for (const auto& [id, bias] : options.logit_bias) {
    if (id < tokenizer.vocab_size()) continue;
    fail(ErrorCode::InvalidArgument, "logit_bias: token {} is not in the vocabulary of {}", id,
         tokenizer.vocab_size());
  }
  if (options.dry_multiplier > 0) options.dry_breakers = tokens_with(tokenizer, dry_breakers);
  return options;
}

runtime::SamplingOptions SamplingChoice::greedy_only() const {
  runtime::SamplingOptions options = without_tokens({});
  if (!options.is_plain_greedy() || top_k || top_p || min_p || typical_p || xtc_probability ||
      mirostat_tau) {
    fail(ErrorCode::Unsupported,
         "this model chooses its most likely token itself and has no logits to sample from");
  }
  return options;
}

void SamplingChoice::check() const {
  without_tokens({}).check();
}

}  // namespace pippin::app
