// Excludes tokens: some always, some because of the tokens before them.
#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "pippin/runtime/sampling/penalties.h"

namespace pippin::runtime {
namespace {

class Exclusion final : public LogitsProcessor {
 public:
  explicit Exclusion(const SamplingOptions& options)
      : suppressed_(options.suppressed),
        first_(options.suppressed_first),
        ends_(options.min_tokens_ends),
        bad_words_(options.bad_words),
        ngram_(options.no_repeat_ngram),
        min_tokens_(options.min_tokens),
        min_length_(options.min_length) {}

  void process(const SamplingContext& context, Candidates& candidates) override {
    const std::span<const int32_t> tokens = context.history.tokens();
    const auto length = static_cast<int64_t>(tokens.size());
    const int64_t generated = length - static_cast<int64_t>(context.history.first_generated());
    exclude(suppressed_, candidates);
    if (generated == 0) exclude(first_, candidates);
    if (generated < min_tokens_ || length < min_length_) exclude(ends_, candidates);
    for (const std::vector<int32_t>& word : bad_words_) {
      const std::span<const int32_t> before = std::span(word).first(word.size() - 1);
      if (ends_with(tokens, before)) exclude({&word.back(), 1}, candidates);
    }
    if (ngram_ > 0) exclude_repeated(tokens, candidates);
  }
  std::unique_ptr<LogitsProcessor> clone() const override {
    return std::make_unique<Exclusion>(*this);
  }

 private:
  static bool ends_with(std::span<const int32_t> tokens, std::span<const int32_t> end) {
    return tokens.size() >= end.size() &&
           std::equal(end.begin(), end.end(),
                      tokens.end() - static_cast<std::ptrdiff_t>(end.size()));
  }

  static void exclude(std::span<const int32_t> ids, Candidates& candidates) {
    for (const int32_t id : ids) {
      const size_t place = candidates.find(id);
      if (place == candidates.size()) continue;
      candidates.set_score(place, -std::numeric_limits<double>::infinity());
    }
  }

  // Excludes the tokens that followed earlier occurrences of the last n - 1 tokens.
  void exclude_repeated(std::span<const int32_t> tokens, Candidates& candidates) const {
    const auto size = static_cast<size_t>(ngram_);
    if (tokens.size() < size) return;
    const auto end = tokens.last(size - 1);
    for (size_t i = 0; i + size <= tokens.size(); ++i) {
      if (ends_with(tokens.subspan(i, size - 1), end)) {
        exclude({&tokens[i + size - 1], 1}, candidates);
      }
    }
  }

  std::vector<int32_t> suppressed_, first_, ends_;
  std::vector<std::vector<int32_t>> bad_words_;
  int64_t ngram_, min_tokens_, min_length_;
};

}  // namespace

std::unique_ptr<LogitsProcessor> make_exclusion(const SamplingOptions& options) {
  if (!options.excludes()) return nullptr;
  return std::make_unique<Exclusion>(options);
}

}  // namespace pippin::runtime
