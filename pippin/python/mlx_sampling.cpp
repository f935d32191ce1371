#include "pippin/python/mlx_sampling.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_set>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/runtime/sampling/filters.h"

namespace pippin::python {
namespace {

using runtime::Candidates;
using runtime::SamplingContext;

class MinP final : public LogitsProcessor {
 public:
  MinP(double p, int64_t keep) : p_(p), keep_(static_cast<size_t>(keep)) {}

  void process(const SamplingContext& /*context*/, Candidates& candidates) override {
    const auto weights = candidates.weights();
    double least = p_ * *std::max_element(weights.begin(), weights.end());
    if (keep_ > 1) {
      sorted_.assign(weights.begin(), weights.end());
      const size_t last = std::min(keep_, sorted_.size()) - 1;
      std::nth_element(sorted_.begin(), sorted_.begin() + static_cast<std::ptrdiff_t>(last),
                       sorted_.end(), std::greater<>());
      least = std::min(least, sorted_[last]);
    }
    candidates.keep_if([&](size_t i) { return candidates.weights()[i] >= least; });
  }
  std::unique_ptr<LogitsProcessor> clone() const override { return std::make_unique<MinP>(*this); }

 private:
  double p_;
  size_t keep_;
  std::vector<double> sorted_;  // scratch
};

// "Exclude top choices": removes all tokens above the threshold except the least likely of them.
class Xtc final : public LogitsProcessor {
 public:
  explicit Xtc(const MlxSampling& options)
      : probability_(options.xtc_probability),
        threshold_(options.xtc_threshold),
        special_(options.xtc_special_tokens.begin(), options.xtc_special_tokens.end()) {}

  void process(const SamplingContext& context, Candidates& candidates) override {
    if (context.random.uniform() >= probability_) return;
    const auto weights = candidates.weights();
    const double above = threshold_ * candidates.total();
    double smallest = INFINITY;
    for (const double weight : weights) {
      if (weight > above) smallest = std::min(smallest, weight);
    }
    candidates.keep_if([&](size_t i) {
      return candidates.weights()[i] <= smallest || special_.contains(candidates.items()[i].id);
    });
  }
  std::unique_ptr<LogitsProcessor> clone() const override { return std::make_unique<Xtc>(*this); }

 private:
  double probability_, threshold_;
  std::unordered_set<int32_t> special_;
};

class RecentPenalty final : public LogitsProcessor {
 public:
  RecentPenalty(Penalty kind, double penalty, int64_t size)
      : kind_(kind), penalty_(penalty), size_(size) {}

  void process(const SamplingContext& context, Candidates& candidates) override {
    for (const auto& [id, count] : context.history.counts(size_)) {
      const size_t place = candidates.find(id);
      if (place == candidates.size()) continue;
      const double score = candidates.items()[place].score;
      candidates.set_score(place, penalized(score, count.all));
    }
  }
  std::unique_ptr<LogitsProcessor> clone() const override {
    return std::make_unique<RecentPenalty>(*this);
  }

 private:
  double penalized(double score, int64_t count) const {
    switch (kind_) {
      case Penalty::Repetition:
        return score < 0 ? score * penalty_ : score / penalty_;
      case Penalty::Presence:
        return score - penalty_;
      case Penalty::Frequency:
        break;
    }
    return score - penalty_ * static_cast<double>(count);
  }

  Penalty kind_;
  double penalty_;
  int64_t size_;
};

}  // namespace

void MlxSampling::check() const {
  const auto within = [](const char* name, double value, double most) {
    if (value >= 0 && value <= most) return;
    fail(ErrorCode::InvalidArgument, "{} is {}: from 0 to {} is possible", name, value, most);
  };
  if (!(temperature >= 0) || std::isinf(temperature)) {
    fail(ErrorCode::InvalidArgument, "temp is {}: not a number from 0 on", temperature);
  }
  within("top_p", top_p, 1);
  within("min_p", min_p, 1);
  within("xtc_probability", xtc_probability, 1);
  within("xtc_threshold", xtc_threshold, 0.5);
  if (min_tokens_to_keep < 1) {
    fail(ErrorCode::InvalidArgument, "min_tokens_to_keep is {}: one at least is kept",
         min_tokens_to_keep);
  }
  if (top_k < 0) fail(ErrorCode::InvalidArgument, "top_k is {}: not a number from 0 on", top_k);
}

std::vector<std::shared_ptr<const LogitsProcessor>> make_filters(const MlxSampling& options) {
  std::vector<std::shared_ptr<const LogitsProcessor>> filters;
  if (options.temperature == 0) return filters;
  runtime::SamplingOptions same;  // options with the same meaning in the library's chain
  if (options.top_p > 0) same.top_p = options.top_p;
  same.top_k = options.top_k;
  if (auto top_p = runtime::make_top_p(same)) filters.push_back(std::move(top_p));
  if (options.min_p > 0) {
    filters.push_back(std::make_shared<MinP>(options.min_p, options.min_tokens_to_keep));
  }
  if (options.xtc_probability > 0) filters.push_back(std::make_shared<Xtc>(options));
  if (auto top_k = runtime::make_top_k(same)) filters.push_back(std::move(top_k));
  return filters;
}

std::shared_ptr<const LogitsProcessor> make_penalty(Penalty kind, double penalty, int64_t size) {
  return std::make_shared<RecentPenalty>(kind, penalty, size);
}

}  // namespace pippin::python
