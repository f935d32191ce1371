// What a caller chose of sampling. The rest comes from the model.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pippin/runtime/sampling/options.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::app {

struct SamplingChoice {
  std::optional<double> temperature, top_p, min_p, typical_p, xtc_probability, xtc_threshold,
      mirostat_tau, mirostat_eta, repetition_penalty, presence_penalty, frequency_penalty,
      dry_multiplier, dry_base;
  std::optional<int64_t> top_k, penalty_last_n, dry_allowed_length, dry_last_n;
  std::optional<uint64_t> seed;
  std::vector<std::string> dry_breakers = {"\n", ":", "\"", "*"};
  std::map<int32_t, double> logit_bias;  // -infinity: never

  // `defaults` with what was given in place of them; a new seed where none was. Throws
  // InvalidArgument for values out of range.
  runtime::SamplingOptions over(const runtime::SamplingOptions& defaults,
                                const Tokenizer& tokenizer) const;
  // As over(), for a model that chooses its most likely token itself: what its files recommend is
  // dropped. Throws Unsupported if something else was asked for.
  runtime::SamplingOptions greedy_only() const;
  // Throws InvalidArgument for values out of range, before any model is opened.
  void check() const;
  bool operator==(const SamplingChoice&) const = default;

 private:
  runtime::SamplingOptions without_tokens(const runtime::SamplingOptions& defaults) const;
};

}  // namespace pippin::app
