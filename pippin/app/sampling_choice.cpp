#include "pippin/app/sampling_choice.h"

#include <random>

#include "pippin/base/error.h"

namespace pippin::app {
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

runtime::SamplingOptions SamplingChoice::without_tokens(
    const runtime::SamplingOptions& defaults) const {
  runtime::SamplingOptions options = defaults;
  apply(options);
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
