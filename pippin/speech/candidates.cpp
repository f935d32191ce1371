#include "pippin/speech/candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "pippin/base/threads/cancel.h"
#include "pippin/speech/token_scores.h"

namespace pippin::speech {
namespace {

// Draws from the distribution of `logprobs` at a temperature.
int32_t draw(std::span<const float> logprobs, double temperature,
             runtime::RandomGenerator& random) {
  std::vector<double> weights(logprobs.size());
  const double most = *std::max_element(logprobs.begin(), logprobs.end());
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] = std::exp((logprobs[i] - most) / temperature);
    sum += weights[i];
  }
  double place = random.uniform() * sum;
  int32_t last = argmax(logprobs);
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    last = static_cast<int32_t>(i);
    place -= weights[i];
    if (place < 0) break;
  }
  return last;
}

std::vector<float> rule_logprobs(const LogitRules& rules, std::span<const int32_t> sampled,
                                 std::span<const float> logits) {
  std::vector<float> logprobs(logits.begin(), logits.end());
  rules.apply(sampled, logprobs);
  log_softmax(logprobs);
  return logprobs;
}

// Several texts that grow by one token in each step.
struct Lane {
  WindowDecoder* decoder;
  std::vector<float> logits;
  int64_t max_tokens;
  Candidate candidate = {};
};

// Grows them until each has ended; `choose` returns the token to add from its log-probabilities.
template <typename Choose>
std::vector<Candidate> grow(std::vector<Lane> lanes, const PromptedDecoder& prompted,
                            Choose choose) {
  std::vector<Lane*> active;
  active.reserve(lanes.size());
  for (Lane& lane : lanes) {
    if (lane.max_tokens > 0) active.push_back(&lane);
  }
  while (!active.empty()) {
    check_cancel();
    std::vector<Lane*> next_active;
    std::vector<WindowDecoder*> decoders;
    std::vector<int32_t> ids;
    for (Lane* lane : active) {
      Candidate& candidate = lane->candidate;
      const std::vector<float> logprobs =
          rule_logprobs(prompted.rules, candidate.tokens, lane->logits);
      const int32_t next = choose(logprobs);
      candidate.sum_logprob += logprobs[static_cast<size_t>(next)];
      if (next == prompted.end_of_text) continue;
      candidate.tokens.push_back(next);
      if (std::ssize(candidate.tokens) == lane->max_tokens) continue;
      next_active.push_back(lane);
      decoders.push_back(lane->decoder);
      ids.push_back(next);
    }
    active = std::move(next_active);
    if (active.empty()) break;
    const auto logits = prompted.model.feed_each(decoders, ids);
    for (size_t i = 0; i < active.size(); ++i) {
      active[i]->logits.assign(logits[i].begin(), logits[i].end());
    }
  }
  std::vector<Candidate> candidates;
  candidates.reserve(lanes.size());
  for (Lane& lane : lanes) candidates.push_back(std::move(lane.candidate));
  return candidates;
}

}  // namespace

Candidate decode_greedily(const PromptedDecoder& prompted) {
  Candidate candidate;
  std::span<const float> logits = prompted.logits;
  while (std::ssize(candidate.tokens) < prompted.max_tokens) {
    check_cancel();
    const std::vector<float> logprobs = rule_logprobs(prompted.rules, candidate.tokens, logits);
    const int32_t next = argmax(logprobs);
    candidate.sum_logprob += logprobs[static_cast<size_t>(next)];
    if (next == prompted.end_of_text) break;
    candidate.tokens.push_back(next);
    if (std::ssize(candidate.tokens) == prompted.max_tokens) break;
    logits = prompted.decoder.feed({&next, 1});
  }
  return candidate;
}

std::vector<Candidate> decode_greedily_together(std::span<const PromptedDecoder> prompted) {
  if (prompted.empty()) return {};
  std::vector<Lane> lanes;
  lanes.reserve(prompted.size());
  for (const PromptedDecoder& one : prompted) {
    lanes.push_back({&one.decoder, {one.logits.begin(), one.logits.end()}, one.max_tokens});
  }
  return grow(std::move(lanes), prompted.front(), argmax);
}

std::vector<Candidate> sample_candidates(const PromptedDecoder& prompted, double temperature,
                                         int64_t count, runtime::RandomGenerator& random) {
  std::vector<std::unique_ptr<WindowDecoder>> forks;
  std::vector<Lane> lanes;
  lanes.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0) forks.push_back(prompted.decoder.fork());
    lanes.push_back({i == 0 ? &prompted.decoder : forks.back().get(),
                     {prompted.logits.begin(), prompted.logits.end()},
                     prompted.max_tokens});
  }
  return grow(std::move(lanes), prompted,
              [&](std::span<const float> logprobs) { return draw(logprobs, temperature, random); });
}

size_t best_candidate(std::span<const Candidate> candidates, std::optional<double> length_penalty) {
  size_t best = 0;
  double best_score = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < candidates.size(); ++i) {
    const auto length = static_cast<double>(std::max<size_t>(candidates[i].tokens.size(), 1));
    const double penalty = length_penalty ? std::pow((5 + length) / 6, *length_penalty) : length;
    const double score = candidates[i].sum_logprob / penalty;
    if (score > best_score) {
      best = i;
      best_score = score;
    }
  }
  return best;
}

}  // namespace pippin::speech
