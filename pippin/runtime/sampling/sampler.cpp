#include "pippin/runtime/sampling/sampler.h"

#include <algorithm>
#include <utility>

#include "pippin/runtime/sampling/filters.h"
#include "pippin/runtime/sampling/penalties.h"

namespace pippin::runtime {
namespace {

std::vector<std::unique_ptr<LogitsProcessor>> clones(
    const std::vector<std::unique_ptr<LogitsProcessor>>& processors) {
  std::vector<std::unique_ptr<LogitsProcessor>> result;
  result.reserve(processors.size());
  for (const auto& processor : processors) result.push_back(processor->clone());
  return result;
}

}  // namespace

Sampler::Sampler(const SamplingOptions& options)
    : is_greedy_(options.temperature == 0), random_(options.seed) {
  options.check();
  const auto append = [&](std::unique_ptr<LogitsProcessor> processor) {
    if (processor) processors_.push_back(std::move(processor));
  };
  append(make_exclusion(options));
  append(make_logit_bias(options));
  append(make_repetition_penalty(options));
  append(make_count_penalties(options));
  append(make_dry(options));
  if (is_greedy_) return;  // the other filters never change the most likely token
  // Temperature keeps the order, so top-k can run first, which leaves few scores for the filters
  // after it.
  append(make_top_k(options));
  append(make_temperature(options));
  append(make_top_p(options));
  append(make_min_p(options));
  append(make_typical(options));
  append(make_xtc(options));
  append(make_mirostat(options));
}

Sampler::Sampler(const Sampler& other)
    : is_greedy_(other.is_greedy_),
      random_(other.random_),
      history_(other.history_),
      processors_(clones(other.processors_)),
      num_added_(other.num_added_) {}

Sampler& Sampler::operator=(const Sampler& other) {
  return *this = Sampler(other);
}

void Sampler::add(std::unique_ptr<LogitsProcessor> processor) {
  processors_.insert(processors_.begin() + static_cast<std::ptrdiff_t>(num_added_),
                     std::move(processor));
  ++num_added_;
}

void Sampler::observe(std::span<const int32_t> ids) {
  history_.add_prompt(ids);
}

int32_t Sampler::sample(std::span<const float> logits) {
  candidates_.assign(logits);
  return choose();
}

int32_t Sampler::sample_most_likely(std::span<const Candidate> candidates) {
  candidates_.assign(candidates);
  return choose();
}

int32_t Sampler::choose() {
  process();
  const int32_t id = candidates_.items()[draw()].id;
  for (const auto& processor : processors_) processor->accept(id, candidates_);
  history_.add_generated(id);
  return id;
}

std::span<const int32_t> Sampler::certain() const {
  for (const auto& processor : processors_) {
    if (const auto tokens = processor->certain(); !tokens.empty()) return tokens;
  }
  return {};
}

bool Sampler::must_end() const {
  return std::any_of(processors_.begin(), processors_.end(),
                     [](const auto& processor) { return processor->must_end(); });
}

std::span<const double> Sampler::distribution(std::span<const float> logits) {
  candidates_.assign(logits);
  process();
  distribution_.assign(logits.size(), 0.0);
  const auto probability_of = [&](size_t place) -> double& {
    return distribution_[static_cast<size_t>(candidates_.items()[place].id)];
  };
  if (is_greedy_) {
    probability_of(candidates_.best()) = 1;
    return distribution_;
  }
  const double total = candidates_.total();
  for (size_t i = 0; i < candidates_.size(); ++i) {
    probability_of(i) = candidates_.weights()[i] / total;
  }
  return distribution_;
}

void Sampler::process() {
  const SamplingContext context{history_, random_};
  for (const auto& processor : processors_) processor->process(context, candidates_);
}

size_t Sampler::draw() {
  if (is_greedy_) return candidates_.best();
  const auto weights = candidates_.weights();
  const double total = candidates_.total();
  double left = random_.uniform();
  size_t chosen = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    chosen = i;  // rounding may leave a remainder: the last possible one
    left -= weights[i] / total;
    if (left < 0) break;
  }
  return chosen;
}

}  // namespace pippin::runtime
