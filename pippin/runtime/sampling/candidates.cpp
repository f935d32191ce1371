#include "pippin/runtime/sampling/candidates.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "pippin/base/error.h"

namespace pippin::runtime {

void Candidates::assign(std::span<const float> logits) {
  items_.resize(logits.size());
  weights_are_known_ = false;
  float largest = -INFINITY;
  for (size_t i = 0; i < logits.size(); ++i) {
    items_[i] = {static_cast<int32_t>(i), static_cast<double>(logits[i])};
    if (std::isnan(logits[i])) {
      fail(ErrorCode::Internal, "the model gave NaN as the logit of token {} of {}", i,
           logits.size());
    }
    largest = std::max(largest, logits[i]);
  }
  if (!std::isfinite(largest)) {
    fail(ErrorCode::Internal, "the model gave no finite largest logit ({} tokens)", logits.size());
  }
}

void Candidates::assign(std::span<const Candidate> candidates) {
  items_.assign(candidates.begin(), candidates.end());
  weights_are_known_ = false;
}

size_t Candidates::find(int32_t id) const {
  // Until candidates are removed, a token's index is its id.
  const auto guess = static_cast<size_t>(id);
  if (guess < items_.size() && items_[guess].id == id) return guess;
  const auto found = std::lower_bound(
      items_.begin(), items_.end(), id,
      [](const Candidate& candidate, int32_t wanted) { return candidate.id < wanted; });
  if (found == items_.end() || found->id != id) return items_.size();
  return static_cast<size_t>(found - items_.begin());
}

void Candidates::keep_only(std::span<const uint64_t> words) {
  // Of a large vocabulary few candidates often remain: skips whole words of zeros.
  const bool all_are_there = !items_.empty() && items_.back().id + size_t{1} == items_.size();
  if (!all_are_there) {
    keep_if([&](size_t i) {
      const auto id = static_cast<size_t>(items_[i].id);
      return id / 64 < words.size() && ((words[id / 64] >> (id % 64)) & 1) != 0;
    });
    return;
  }
  size_t kept = 0;
  for (size_t w = 0; w < words.size() && 64 * w < items_.size(); ++w) {
    for (uint64_t word = words[w]; word != 0; word &= word - 1) {
      const size_t i = 64 * w + static_cast<size_t>(std::countr_zero(word));
      if (i >= items_.size()) break;
      items_[kept++] = items_[i];
    }
  }
  items_.resize(kept);
  weights_are_known_ = false;
}

size_t Candidates::best() const {
  size_t best = 0;
  for (size_t i = 1; i < items_.size(); ++i) {
    if (items_[i].score > items_[best].score) best = i;
  }
  if (items_.empty() || !std::isfinite(items_[best].score)) {
    fail(ErrorCode::InvalidArgument,
         "no token is left to choose from: biases, penalties or a constraint took out all");
  }
  return best;
}

std::span<const double> Candidates::weights() {
  if (!weights_are_known_) {
    const double largest = items_[best()].score;
    weights_.resize(items_.size());
    std::transform(items_.begin(), items_.end(), weights_.begin(),
                   [&](const Candidate& candidate) { return std::exp(candidate.score - largest); });
    weights_are_known_ = true;
  }
  return weights_;
}

double Candidates::total() {
  const auto all = weights();
  return std::accumulate(all.begin(), all.end(), 0.0);
}

}  // namespace pippin::runtime
