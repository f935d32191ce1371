#include "pippin/runtime/sampling/filters.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace pippin::runtime {
namespace {

class TopK final : public LogitsProcessor {
 public:
  explicit TopK(int64_t k) : k_(static_cast<size_t>(k)) {}

  void process(const SamplingContext& /*context*/, Candidates& candidates) override {
    if (k_ >= candidates.size()) return;
    // A heap of the k largest scores so far, with the smallest on top.
    largest_.clear();
    for (const Candidate& candidate : candidates.items()) {
      if (largest_.size() < k_) {
        largest_.push_back(candidate.score);
        std::push_heap(largest_.begin(), largest_.end(), std::greater<>());
      } else if (candidate.score > largest_.front()) {
        std::pop_heap(largest_.begin(), largest_.end(), std::greater<>());
        largest_.back() = candidate.score;
        std::push_heap(largest_.begin(), largest_.end(), std::greater<>());
      }
    }
    const double last = largest_.front();
    candidates.keep_if([&](size_t i) { return candidates.items()[i].score >= last; });
  }
  std::unique_ptr<LogitsProcessor> clone() const override { return std::make_unique<TopK>(*this); }

 private:
  size_t k_;
  std::vector<double> largest_;  // scratch
};

class Temperature final : public LogitsProcessor {
 public:
  explicit Temperature(double temperature) : temperature_(temperature) {}

  void process(const SamplingContext& /*context*/, Candidates& candidates) override {
    // Relative to the best one, so that a tiny temperature can only overflow to -infinity.
    const double best = candidates.items()[candidates.best()].score;
    candidates.change_scores(
        [&](const Candidate& candidate) { return (candidate.score - best) / temperature_; });
  }
  std::unique_ptr<LogitsProcessor> clone() const override {
    return std::make_unique<Temperature>(*this);
  }

 private:
  double temperature_;
};

class TopP final : public LogitsProcessor {
 public:
  explicit TopP(double p) : p_(p) {}

  void process(const SamplingContext& /*context*/, Candidates& candidates) override {
    const auto weights = candidates.weights();
    by_weight_.clear();
    std::copy_if(weights.begin(), weights.end(), std::back_inserter(by_weight_),
                 [](double weight) { return weight > 0; });
    const double wanted = p_ * std::accumulate(by_weight_.begin(), by_weight_.end(), 0.0);
    // A heap, because usually few of the candidates are needed.
    std::make_heap(by_weight_.begin(), by_weight_.end());
    double sum = 0, smallest = 1;
    size_t kept = 0;
    for (auto end = by_weight_.end(); end != by_weight_.begin() && sum < wanted; --end, ++kept) {
      std::pop_heap(by_weight_.begin(), end);
      smallest = *(end - 1);
      sum += smallest;
    }
    // Of the tokens equal to the smallest, keeps as many as were counted, lower ids first.
    auto ties = std::count(by_weight_.end() - static_cast<std::ptrdiff_t>(kept), by_weight_.end(),
                           smallest);
    candidates.keep_if([&](size_t i) {
      const double weight = candidates.weights()[i];
      return weight > smallest || (weight == smallest && ties-- > 0);
    });
  }
  std::unique_ptr<LogitsProcessor> clone() const override { return std::make_unique<TopP>(*this); }

 private:
  double p_;
  std::vector<double> by_weight_;  // scratch
};

class MinP final : public LogitsProcessor {
 public:
  explicit MinP(double p) : p_(p) {}

  void process(const SamplingContext& /*context*/, Candidates& candidates) override {
    const auto weights = candidates.weights();
    const double least = p_ * *std::max_element(weights.begin(), weights.end());
    candidates.keep_if([&](size_t i) { return candidates.weights()[i] >= least; });
  }
  std::unique_ptr<LogitsProcessor> clone() const override { return std::make_unique<MinP>(*this); }

 private:
  double p_;
};

class Typical final : public LogitsProcessor {
 public:
  explicit Typical(double p) : p_(p) {}

  void process(const SamplingContext& /*context*/, Candidates& candidates) override {
    const auto weights = candidates.weights();
    const double total = candidates.total();
    double entropy = 0;  // in nats
    for (const double weight : weights) {
      if (weight > 0) entropy -= weight / total * std::log(weight / total);
    }
    by_distance_.clear();
    for (const double weight : weights) {
      if (weight == 0) continue;
      by_distance_.push_back({std::abs(-std::log(weight / total) - entropy), weight / total});
    }
    std::sort(by_distance_.begin(), by_distance_.end());
    double sum = 0, farthest = 0;
    for (const auto& [distance, probability] : by_distance_) {
      farthest = distance;
      sum += probability;
      if (sum >= p_) break;
    }
    candidates.keep_if([&](size_t i) {
      const double weight = candidates.weights()[i];
      return weight > 0 && std::abs(-std::log(weight / total) - entropy) <= farthest;
    });
  }
  std::unique_ptr<LogitsProcessor> clone() const override {
    return std::make_unique<Typical>(*this);
  }

 private:
  double p_;
  std::vector<std::pair<double, double>> by_distance_;  // scratch
};

class Xtc final : public LogitsProcessor {
 public:
  Xtc(double probability, double threshold) : probability_(probability), threshold_(threshold) {}

  void process(const SamplingContext& context, Candidates& candidates) override {
    if (context.random.uniform() >= probability_) return;
    const auto weights = candidates.weights();
    const double least = threshold_ * candidates.total();
    const auto is_choice = [&](size_t i) { return candidates.weights()[i] >= least; };
    double smallest = INFINITY;
    for (size_t i = 0; i < weights.size(); ++i) {
      if (is_choice(i)) smallest = std::min(smallest, weights[i]);
    }
    bool is_kept = false;  // if several are equal, the first one
    candidates.keep_if([&](size_t i) {
      if (!is_choice(i)) return true;
      if (is_kept || candidates.weights()[i] > smallest) return false;
      return is_kept = true;
    });
  }
  std::unique_ptr<LogitsProcessor> clone() const override { return std::make_unique<Xtc>(*this); }

 private:
  double probability_, threshold_;
};

class Mirostat final : public LogitsProcessor {
 public:
  Mirostat(double tau, double eta) : tau_(tau), eta_(eta), most_(2 * tau) {}

  void process(const SamplingContext& /*context*/, Candidates& candidates) override {
    const size_t best = candidates.best();
    const double total = candidates.total();
    candidates.keep_if([&](size_t i) {
      return i == best || -std::log2(candidates.weights()[i] / total) <= most_;
    });
  }
  void accept(int32_t id, Candidates& candidates) override {
    const size_t place = candidates.find(id);
    const double surprise = -std::log2(candidates.weights()[place] / candidates.total());
    most_ -= eta_ * (surprise - tau_);
  }
  std::unique_ptr<LogitsProcessor> clone() const override {
    return std::make_unique<Mirostat>(*this);
  }

 private:
  double tau_, eta_;
  double most_;  // bits of surprisal that a candidate may have: mu in the paper
};

}  // namespace

std::unique_ptr<LogitsProcessor> make_top_k(const SamplingOptions& options) {
  if (options.top_k == 0) return nullptr;
  return std::make_unique<TopK>(options.top_k);
}

std::unique_ptr<LogitsProcessor> make_temperature(const SamplingOptions& options) {
  if (options.temperature == 0) return nullptr;
  return std::make_unique<Temperature>(options.temperature);
}

std::unique_ptr<LogitsProcessor> make_top_p(const SamplingOptions& options) {
  if (options.top_p >= 1) return nullptr;
  return std::make_unique<TopP>(options.top_p);
}

std::unique_ptr<LogitsProcessor> make_min_p(const SamplingOptions& options) {
  if (options.min_p == 0) return nullptr;
  return std::make_unique<MinP>(options.min_p);
}

std::unique_ptr<LogitsProcessor> make_typical(const SamplingOptions& options) {
  if (options.typical_p >= 1) return nullptr;
  return std::make_unique<Typical>(options.typical_p);
}

std::unique_ptr<LogitsProcessor> make_xtc(const SamplingOptions& options) {
  if (options.xtc_probability == 0) return nullptr;
  return std::make_unique<Xtc>(options.xtc_probability, options.xtc_threshold);
}

std::unique_ptr<LogitsProcessor> make_mirostat(const SamplingOptions& options) {
  if (options.mirostat_tau == 0) return nullptr;
  return std::make_unique<Mirostat>(options.mirostat_tau, options.mirostat_eta);
}

}  // namespace pippin::runtime
