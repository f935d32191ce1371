#include "pippin/runtime/sampling/penalties.h"

#include <map>

namespace pippin::runtime {
namespace {

class LogitBias final : public LogitsProcessor {
 public:
  explicit LogitBias(std::map<int32_t, double> bias) : bias_(std::move(bias)) {}

  void process(const SamplingContext& /*context*/, Candidates& candidates) override {
    for (const auto& [id, bias] : bias_) {
      const size_t place = candidates.find(id);
      if (place == candidates.size()) continue;
      candidates.set_score(place, candidates.items()[place].score + bias);
    }
  }
  std::unique_ptr<LogitsProcessor> clone() const override {
    return std::make_unique<LogitBias>(*this);
  }

 private:
  std::map<int32_t, double> bias_;
};

class RepetitionPenalty final : public LogitsProcessor {
 public:
  RepetitionPenalty(double penalty, int64_t last_n) : penalty_(penalty), last_n_(last_n) {}

  void process(const SamplingContext& context, Candidates& candidates) override {
    for (const auto& [id, count] : context.history.counts(last_n_)) {
      const size_t place = candidates.find(id);
      if (place == candidates.size()) continue;
      const double score = candidates.items()[place].score;
      candidates.set_score(place, score < 0 ? score * penalty_ : score / penalty_);
    }
  }
  std::unique_ptr<LogitsProcessor> clone() const override {
    return std::make_unique<RepetitionPenalty>(*this);
  }

 private:
  double penalty_;
  int64_t last_n_;
};

class CountPenalties final : public LogitsProcessor {
 public:
  CountPenalties(double presence, double frequency, int64_t last_n)
      : presence_(presence), frequency_(frequency), last_n_(last_n) {}

  void process(const SamplingContext& context, Candidates& candidates) override {
    for (const auto& [id, count] : context.history.counts(last_n_)) {
      if (count.generated == 0) continue;
      const size_t place = candidates.find(id);
      if (place == candidates.size()) continue;
      const double penalty = presence_ + frequency_ * static_cast<double>(count.generated);
      candidates.set_score(place, candidates.items()[place].score - penalty);
    }
  }
  std::unique_ptr<LogitsProcessor> clone() const override {
    return std::make_unique<CountPenalties>(*this);
  }

 private:
  double presence_, frequency_;
  int64_t last_n_;
};

}  // namespace

std::unique_ptr<LogitsProcessor> make_logit_bias(const SamplingOptions& options) {
  if (options.logit_bias.empty()) return nullptr;
  return std::make_unique<LogitBias>(options.logit_bias);
}

std::unique_ptr<LogitsProcessor> make_repetition_penalty(const SamplingOptions& options) {
  if (options.repetition_penalty == 1) return nullptr;
  return std::make_unique<RepetitionPenalty>(options.repetition_penalty, options.penalty_last_n);
}

std::unique_ptr<LogitsProcessor> make_count_penalties(const SamplingOptions& options) {
  if (options.presence_penalty == 0 && options.frequency_penalty == 0) return nullptr;
  return std::make_unique<CountPenalties>(options.presence_penalty, options.frequency_penalty,
                                          options.penalty_last_n);
}

}  // namespace pippin::runtime
