// Texts of one window, decoded from a prompt: greedily, by sampling, or by beam search.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pippin/runtime/sampling/random.h"
#include "pippin/speech/logit_rules.h"
#include "pippin/speech/window_decoder.h"

namespace pippin::speech {

// A decoder to which the prompt was fed.
struct PromptedDecoder {
  SpeechModel& model;
  WindowDecoder& decoder;
  std::span<const float> logits;  // after the prompt
  const LogitRules& rules;
  int32_t end_of_text;
  int64_t max_tokens;  // after the prompt
};

struct Candidate {
  std::vector<int32_t> tokens;  // after the prompt, without the end of the text
  double sum_logprob = 0;       // with the end of the text if it was reached
};

// Returns the text of the most likely token at each step. `decoder` keeps the tokens fed.
Candidate decode_greedily(const PromptedDecoder& prompted);

// The same for several windows of a model, which share the passes over its weights. All have the
// same rules and the same end.
std::vector<Candidate> decode_greedily_together(std::span<const PromptedDecoder> prompted);

// Returns `count` texts sampled at a temperature above 0.
std::vector<Candidate> sample_candidates(const PromptedDecoder& prompted, double temperature,
                                         int64_t count, runtime::RandomGenerator& random);

// Returns at least `beams` texts, unless there are fewer: the search keeps that many beams and ends
// when beams * patience of them have ended.
std::vector<Candidate> search_beams(const PromptedDecoder& prompted, int64_t beams,
                                    double patience);

// Returns the index of the text with the largest log-probability, divided by
// ((5 + length) / 6)^length_penalty or by the length.
size_t best_candidate(std::span<const Candidate> candidates, std::optional<double> length_penalty);

}  // namespace pippin::speech
