#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "pippin/runtime/sampling/penalties.h"

namespace pippin::runtime {
namespace {

// Large enough to exclude a token, small enough to keep differences between such tokens.
constexpr double kLargestPenalty = 1e6;

class Dry final : public LogitsProcessor {
 public:
  explicit Dry(const SamplingOptions& options)
      : multiplier_(options.dry_multiplier),
        base_(options.dry_base),
        allowed_(options.dry_allowed_length),
        last_n_(options.dry_last_n),
        breakers_(options.dry_breakers.begin(), options.dry_breakers.end()) {}

  void process(const SamplingContext& context, Candidates& candidates) override {
    auto tokens = context.history.tokens();
    if (last_n_ > 0) tokens = tokens.last(std::min(static_cast<size_t>(last_n_), tokens.size()));
    for (const auto& [id, length] : repetitions(tokens)) {
      if (length < allowed_) continue;
      const size_t place = candidates.find(id);
      if (place == candidates.size()) continue;
      const double penalty = std::min(
          multiplier_ * std::pow(base_, static_cast<double>(length - allowed_)), kLargestPenalty);
      candidates.set_score(place, candidates.items()[place].score - penalty);
    }
  }
  std::unique_ptr<LogitsProcessor> clone() const override { return std::make_unique<Dry>(*this); }

 private:
  // For each token that would extend a repetition: the length of the longest run before an earlier
  // occurrence of it that the sequence also ends with.
  const std::unordered_map<int32_t, int64_t>& repetitions(std::span<const int32_t> tokens) {
    longest_.clear();
    const size_t size = tokens.size();
    const auto from_end = [&](size_t i) { return tokens[size - 1 - i]; };
    // A repetition does not cross a breaker.
    size_t limit = 0;
    while (limit < size && !breakers_.contains(from_end(limit))) ++limit;
    if (limit == 0) return longest_;
    // The Z function of the reversed tokens: the match_[i] tokens before the last i equal the end
    // of the sequence. [left, right) is the match that reaches farthest.
    match_.assign(size, 0);
    size_t left = 0, right = 0;
    for (size_t i = 1; i < size; ++i) {
      size_t length = i < right ? std::min(match_[i - left], right - i) : 0;
      while (i + length < size && from_end(length) == from_end(i + length)) ++length;
      match_[i] = length;
      if (i + length > right) {
        left = i;
        right = i + length;
      }
      const int32_t next = from_end(i - 1);
      if (length == 0 || breakers_.contains(next)) continue;
      int64_t& longest = longest_[next];
      longest = std::max(longest, static_cast<int64_t>(std::min(length, limit)));
    }
    return longest_;
  }

  double multiplier_, base_;
  int64_t allowed_, last_n_;
  std::unordered_set<int32_t> breakers_;
  std::vector<size_t> match_;                     // scratch
  std::unordered_map<int32_t, int64_t> longest_;  // scratch
};

}  // namespace

std::unique_ptr<LogitsProcessor> make_dry(const SamplingOptions& options) {
  if (options.dry_multiplier == 0) return nullptr;
  return std::make_unique<Dry>(options);
}

}  // namespace pippin::runtime
