#include "pippin/runtime/sampling/options.h"

#include <cmath>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/runtime/sampling/candidates.h"
#include "pippin/runtime/sampling/option_table.h"

namespace pippin::runtime {

bool SamplingOptions::changes_scores() const {
  return repetition_penalty != 1 || presence_penalty != 0 || frequency_penalty != 0 ||
         dry_multiplier != 0 || !logit_bias.empty() || excludes();
}

bool SamplingOptions::is_plain_greedy() const {
  return temperature == 0 && !changes_scores();
}

bool SamplingOptions::is_plain_top_k() const {
  return temperature != 0 && top_k > 0 && top_k <= kMostLikely && !changes_scores();
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
  for (const SamplingOption& option : sampling_options()) option.check(*this);
  const std::pair<const char*, int64_t> counts[] = {
      {"no_repeat_ngram", no_repeat_ngram}, {"min_tokens", min_tokens}, {"min_length", min_length}};
  for (const auto& [name, value] : counts) {
    if (value >= 0) continue;
    fail(ErrorCode::InvalidArgument, "{} is {}, must be 0 (off) or more", name, value);
  }
  for (const std::vector<int32_t>& word : bad_words) {
    if (word.empty()) fail(ErrorCode::InvalidArgument, "bad_words: one of them has no tokens");
  }
  for (const auto& [id, bias] : logit_bias) {
    if (id < 0) fail(ErrorCode::InvalidArgument, "logit_bias: invalid token {}", id);
    if (std::isnan(bias) || (std::isinf(bias) && bias > 0)) {
      fail(ErrorCode::InvalidArgument,
           "logit_bias: the bias of token {} is {}, must be a number, or -infinity for never", id,
           bias);
    }
  }
}

}  // namespace pippin::runtime
