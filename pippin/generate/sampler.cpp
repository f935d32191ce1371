#include "pippin/generate/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>

#include "pippin/base/error.h"

namespace pippin::generate {

void SamplingOptions::check() const {
  const auto require = [](bool valid, const char* name, double value, const char* range) {
    if (!valid) fail(ErrorCode::InvalidArgument, "{} is {}, must be {}", name, value, range);
  };
  // Written so that NaN fails.
  require(temperature >= 0 && std::isfinite(temperature), "temperature", temperature, "0 or more");
  require(top_k >= 0, "top-k", static_cast<double>(top_k), "0 (off) or more");
  require(top_p > 0 && top_p <= 1, "top-p", top_p, "above 0 and at most 1");
  require(min_p >= 0 && min_p <= 1, "min-p", min_p, "from 0 to 1");
  require(repetition_penalty > 0 && std::isfinite(repetition_penalty), "repetition penalty",
          repetition_penalty, "above 0");
}

RandomGenerator::RandomGenerator(uint64_t seed) {
  for (uint64_t& word : state_) {
    seed += 0x9e3779b97f4a7c15u;
    uint64_t mixed = seed;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    word = mixed ^ (mixed >> 31);
  }
}

uint64_t RandomGenerator::next() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double RandomGenerator::uniform() {
  return static_cast<double>(next() >> 11) * 0x1p-53;
}

Sampler::Sampler(const SamplingOptions& options) : options_(options), random_(options.seed) {
  options_.check();
}

void Sampler::observe(std::span<const int32_t> ids) {
  for (const int32_t id : ids) {
    if (id < 0) continue;
    const auto index = static_cast<size_t>(id);
    if (index >= is_seen_.size()) is_seen_.resize(index + 1);
    if (is_seen_[index]) continue;
    is_seen_[index] = true;
    seen_.push_back(id);
  }
}

int32_t Sampler::sample(std::span<const float> logits) {
  const std::span<const double> probabilities = distribution(logits);
  size_t chosen = 0;
  if (options_.temperature == 0) {
    chosen = most_likely();
  } else {
    double left = random_.uniform();
    for (size_t i = 0; i < probabilities.size(); ++i) {
      if (probabilities[i] == 0) continue;
      chosen = i;  // the last possible one where rounding leaves a rest
      left -= probabilities[i];
      if (left < 0) break;
    }
  }
  const auto id = static_cast<int32_t>(chosen);
  observe({&id, 1});
  return id;
}

std::span<const double> Sampler::distribution(std::span<const float> logits) {
  penalize(logits);
  const size_t best = most_likely();
  weights_.assign(scores_.size(), 0.0);
  if (options_.temperature == 0) {
    weights_[best] = 1;
    return weights_;
  }
  for (size_t i = 0; i < scores_.size(); ++i) {
    weights_[i] = std::exp((scores_[i] - scores_[best]) / options_.temperature);
  }
  keep_top_k();
  keep_top_p();
  keep_min_p();
  const double total = std::accumulate(weights_.begin(), weights_.end(), 0.0);
  for (double& weight : weights_) weight /= total;
  return weights_;
}

void Sampler::penalize(std::span<const float> logits) {
  scores_.assign(logits.begin(), logits.end());
  if (options_.repetition_penalty == 1) return;
  for (const int32_t id : seen_) {
    if (static_cast<size_t>(id) >= scores_.size()) continue;
    double& score = scores_[static_cast<size_t>(id)];
    score = score < 0 ? score * options_.repetition_penalty : score / options_.repetition_penalty;
  }
}

size_t Sampler::most_likely() const {
  size_t best = 0;
  for (size_t i = 0; i < scores_.size(); ++i) {
    if (std::isnan(scores_[i])) {
      fail(ErrorCode::Internal, "the model gave NaN as the logit of token {} of {}", i,
           scores_.size());
    }
    if (scores_[i] > scores_[best]) best = i;
  }
  if (scores_.empty() || !std::isfinite(scores_[best])) {
    fail(ErrorCode::Internal, "the model gave no finite largest logit ({} tokens)", scores_.size());
  }
  return best;
}

void Sampler::keep_top_k() {
  const auto k = static_cast<size_t>(options_.top_k);
  if (k == 0 || k >= scores_.size()) return;
  // By scores, not weights: weights far below the best are all zero.
  by_weight_ = scores_;
  const auto last = by_weight_.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(by_weight_.begin(), last, by_weight_.end(), std::greater<>());
  for (size_t i = 0; i < scores_.size(); ++i) {
    if (scores_[i] < *last) weights_[i] = 0;
  }
}

void Sampler::keep_top_p() {
  if (options_.top_p >= 1) return;
  by_weight_.clear();
  std::copy_if(weights_.begin(), weights_.end(), std::back_inserter(by_weight_),
               [](double weight) { return weight > 0; });
  const double wanted = options_.top_p * std::accumulate(by_weight_.begin(), by_weight_.end(), 0.0);
  // A heap, since few of many are usually enough.
  std::make_heap(by_weight_.begin(), by_weight_.end());
  double sum = 0, smallest = 1;
  size_t kept = 0;
  for (auto end = by_weight_.end(); end != by_weight_.begin() && sum < wanted; --end, ++kept) {
    std::pop_heap(by_weight_.begin(), end);
    smallest = *(end - 1);
    sum += smallest;
  }
  // Of tokens equal to the smallest as many stay as were counted, lower ids first.
  size_t ties = static_cast<size_t>(
      std::count(by_weight_.end() - static_cast<std::ptrdiff_t>(kept), by_weight_.end(), smallest));
  for (double& weight : weights_) {
    if (weight > smallest) continue;
    if (weight == smallest && ties > 0) {
      --ties;
    } else {
      weight = 0;
    }
  }
}

void Sampler::keep_min_p() {
  if (options_.min_p == 0) return;
  // The largest weight is 1, so this is the ratio to the most likely token.
  for (double& weight : weights_) {
    if (weight < options_.min_p) weight = 0;
  }
}

}  // namespace pippin::generate
