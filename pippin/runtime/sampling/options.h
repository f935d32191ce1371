// Options for choosing the next token: those of each processor of the chain (sampler.h).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "pippin/base/export.h"

namespace pippin::runtime {

// The choice of the next token; by default, the most likely one.
struct PIPPIN_API SamplingOptions {
  double temperature = 0;  // logits are divided by it; 0: always the most likely token
  int64_t top_k = 0;  // keep the k most likely tokens (and those as likely as the last); 0: all
  double top_p = 1;   // keep the fewest tokens whose probabilities sum to this
  double min_p = 0;   // drop tokens less likely than this times the most likely one
  // Keep the tokens whose surprisal is closest to the entropy, until their probabilities sum to
  // this (Meister et al., 2022, "Locally Typical Sampling"); 1: all.
  double typical_p = 1;
  // "Exclude top choices": with probability `xtc_probability`, drop all tokens that are at least
  // `xtc_threshold` likely except the least likely of these; 0: off.
  double xtc_probability = 0;
  double xtc_threshold = 0.1;  // see xtc_probability
  // Mirostat 2.0: keep the surprisal of the text near `mirostat_tau` bits per token; after each
  // token, correct `mirostat_eta` of the error (Basu et al., 2020); tau 0: off.
  double mirostat_tau = 0;
  double mirostat_eta = 0.1;  // see mirostat_tau

  // For every token of prompt and text, positive logits are divided by it and negative ones
  // multiplied (Keskar et al., 2019, "CTRL"); 1: off.
  double repetition_penalty = 1;
  // Subtracted from the logits of tokens that occur in the generated text (OpenAI's parameter).
  double presence_penalty = 0;
  // Subtracted from the logit of a token once per occurrence in the generated text (OpenAI's
  // parameter).
  double frequency_penalty = 0;
  // The number of last tokens that the three penalties consider; 0: all.
  int64_t penalty_last_n = 0;

  // "Don't repeat yourself": the logit of a token that would extend a repetition of n tokens is
  // lowered by multiplier * base ^ (n - allowed_length), if n >= allowed_length; multiplier 0: off.
  double dry_multiplier = 0;
  double dry_base = 1.75;             // see dry_multiplier
  int64_t dry_allowed_length = 2;     // see dry_multiplier
  int64_t dry_last_n = 0;             // the number of last tokens considered; 0: all
  std::vector<int32_t> dry_breakers;  // tokens that end a repetition

  std::map<int32_t, double> logit_bias;  // added to logits; -infinity: never

  std::vector<int32_t> suppressed;        // tokens that are never chosen
  std::vector<int32_t> suppressed_first;  // tokens that a text never begins with
  // Sequences of tokens: the last one is never chosen after the others.
  std::vector<std::vector<int32_t>> bad_words;
  // No run of this many tokens occurs twice in prompt and text; 0: off.
  int64_t no_repeat_ngram = 0;
  // The first `min_tokens` tokens of a text are not in `min_tokens_ends`; nor are later ones until
  // prompt and text have `min_length` tokens.
  int64_t min_tokens = 0, min_length = 0;
  std::vector<int32_t> min_tokens_ends;  // see min_tokens

  uint64_t seed = 0;  // of the generation's random numbers: the same seed gives the same text

  // Returns whether the choice is the argmax of the model's own logits.
  bool is_plain_greedy() const;
  // Returns whether the choice depends on the model's own logits of the `top_k` most likely tokens
  // alone, at most kMostLikely (candidates.h).
  bool is_plain_top_k() const;
  // Returns whether an option that excludes tokens is set.
  bool excludes() const;
  // Throws InvalidArgument for a value out of range, naming the option and its range.
  void check() const;

 private:
  bool changes_scores() const;  // before they are filtered
};

// Returns `options` with the exclusions of `from` added.
PIPPIN_API SamplingOptions with_exclusions(SamplingOptions options, const SamplingOptions& from);

}  // namespace pippin::runtime
