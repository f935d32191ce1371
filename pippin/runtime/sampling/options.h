// How the next token is chosen: one option for each processor of the chain (sampler.h).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "pippin/base/export.h"

namespace pippin::runtime {

struct PIPPIN_API SamplingOptions {
  double temperature = 0;  // 0: always the most likely token
  int64_t top_k = 0;       // keep the k most likely tokens (and those equal to the last); 0: all
  double top_p = 1;        // keep the fewest tokens that have this probability together
  double min_p = 0;        // drop tokens less likely than this times the most likely one
  // Keep the tokens whose surprise is nearest to the entropy, until they have this probability
  // together (Meister et al., 2022, "Locally Typical Sampling"); 1: all.
  double typical_p = 1;
  // With this probability drop all but the least likely of the tokens that are at least
  // `xtc_threshold` likely ("exclude top choices"); probability 0: off.
  double xtc_probability = 0;
  double xtc_threshold = 0.1;
  // Keep the surprise of the text near `mirostat_tau` bits per token, correcting by `mirostat_eta`
  // of the error after each (Basu et al., 2020, version 2); tau 0: off.
  double mirostat_tau = 0;
  double mirostat_eta = 0.1;

  // Positive logits are divided by it and negative ones multiplied, for every token of prompt and
  // text (Keskar et al., 2019, "CTRL"); 1: off.
  double repetition_penalty = 1;
  // Taken off the logits of the tokens of the text, not of the prompt: once for a token that is
  // there, and for each time that it is there (OpenAI's parameters).
  double presence_penalty = 0;
  double frequency_penalty = 0;
  int64_t penalty_last_n = 0;  // the three look at so many of the last tokens; 0: at all

  // "Don't repeat yourself": a token that would prolong a repetition of n tokens loses
  // multiplier * base ^ (n - allowed_length), from n = allowed_length on; multiplier 0: off.
  double dry_multiplier = 0;
  double dry_base = 1.75;
  int64_t dry_allowed_length = 2;
  int64_t dry_last_n = 0;             // look at so many of the last tokens; 0: at all
  std::vector<int32_t> dry_breakers;  // tokens that no repetition goes across

  std::map<int32_t, double> logit_bias;  // added to logits; -infinity: never

  uint64_t seed = 0;

  // Whether the most likely token is chosen as the model has it.
  bool is_plain_greedy() const;
  // Throws InvalidArgument, naming the option and its range.
  void check() const;
};

}  // namespace pippin::runtime
