#include "pippin/runtime/sampling/options.h"

#include <cmath>

#include "pippin/base/error.h"

namespace pippin::runtime {

bool SamplingOptions::is_plain_greedy() const {
  return temperature == 0 && repetition_penalty == 1 && presence_penalty == 0 &&
         frequency_penalty == 0 && dry_multiplier == 0 && logit_bias.empty() && !excludes();
}

bool SamplingOptions::excludes() const {
  const bool has_least = (min_tokens > 0 || min_length > 0) && !min_tokens_ends.empty();
  return !suppressed.empty() || !suppressed_first.empty() || !bad_words.empty() ||
         no_repeat_ngram > 0 || has_least;
}

SamplingOptions with_exclusions(SamplingOptions options, const SamplingOptions& from) {
  options.suppressed = from.suppressed;
  options.suppressed_first = from.suppressed_first;
  options.bad_words = from.bad_words;
  options.no_repeat_ngram = from.no_repeat_ngram;
  options.min_tokens = from.min_tokens;
  options.min_length = from.min_length;
  options.min_tokens_ends = from.min_tokens_ends;
  return options;
}

void SamplingOptions::check() const {
  const auto require = [](bool valid, const char* name, double value, const char* range) {
    if (!valid) fail(ErrorCode::InvalidArgument, "{} is {}, must be {}", name, value, range);
  };
  const auto count = [&](int64_t value, const char* name, const char* off) {
    if (value < 0)
      fail(ErrorCode::InvalidArgument, "{} is {}, must be 0 ({}) or more", name, value, off);
  };
  // Written so that NaN fails.
  require(temperature >= 0 && std::isfinite(temperature), "temperature", temperature, "0 or more");
  count(top_k, "top-k", "off");
  require(top_p > 0 && top_p <= 1, "top-p", top_p, "above 0 and at most 1");
  require(min_p >= 0 && min_p <= 1, "min-p", min_p, "from 0 to 1");
  require(typical_p > 0 && typical_p <= 1, "typical-p", typical_p, "above 0 and at most 1");
  require(xtc_probability >= 0 && xtc_probability <= 1, "XTC probability", xtc_probability,
          "from 0 to 1");
  require(xtc_threshold > 0 && xtc_threshold <= 1, "XTC threshold", xtc_threshold,
          "above 0 and at most 1");
  require(mirostat_tau >= 0 && std::isfinite(mirostat_tau), "mirostat tau", mirostat_tau,
          "0 (off) or more");
  require(mirostat_eta >= 0 && mirostat_eta <= 1, "mirostat eta", mirostat_eta, "from 0 to 1");
  require(repetition_penalty > 0 && std::isfinite(repetition_penalty), "repetition penalty",
          repetition_penalty, "above 0");
  require(std::isfinite(presence_penalty), "presence penalty", presence_penalty, "a number");
  require(std::isfinite(frequency_penalty), "frequency penalty", frequency_penalty, "a number");
  count(penalty_last_n, "the penalties' number of last tokens", "all");
  require(dry_multiplier >= 0 && std::isfinite(dry_multiplier), "DRY multiplier", dry_multiplier,
          "0 (off) or more");
  require(dry_base >= 1 && std::isfinite(dry_base), "DRY base", dry_base, "1 or more");
  count(dry_allowed_length, "DRY allowed length", "none");
  count(dry_last_n, "DRY number of last tokens", "all");
  count(no_repeat_ngram, "the length of runs that are not repeated", "off");
  count(min_tokens, "the least number of tokens", "none");
  count(min_length, "the least number of tokens of prompt and text", "none");
  for (const std::vector<int32_t>& word : bad_words) {
    if (word.empty()) fail(ErrorCode::InvalidArgument, "bad words: one of them has no tokens");
  }
  for (const auto& [id, bias] : logit_bias) {
    if (id < 0) fail(ErrorCode::InvalidArgument, "logit bias: invalid token {}", id);
    if (std::isnan(bias) || (std::isinf(bias) && bias > 0)) {
      fail(ErrorCode::InvalidArgument,
           "logit bias of token {} is {}, must be a number, or -infinity for never", id, bias);
    }
  }
}

}  // namespace pippin::runtime
