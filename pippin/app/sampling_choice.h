// The caller's sampling options. The rest comes from the model.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pippin/runtime/sampling/option_table.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::app {

struct SamplingChoice : runtime::SamplingOverrides {
  std::optional<uint64_t> seed;
  std::vector<std::string> dry_breakers = {"\n", ":", "\"", "*"};
  std::map<int32_t, double> logit_bias;  // -infinity: never

  // `defaults` overridden by the given values; a new seed if none is given. Throws InvalidArgument
  // for values out of range.
  runtime::SamplingOptions over(const runtime::SamplingOptions& defaults,
                                const Tokenizer& tokenizer) const;
  // Like over(), for a model that chooses its most likely token itself: ignores its files'
  // recommendations. Throws Unsupported if other options were given.
  runtime::SamplingOptions greedy_only() const;
  // Throws InvalidArgument for values out of range; called before a model is opened.
  void check() const;
  bool operator==(const SamplingChoice&) const = default;

 private:
  runtime::SamplingOptions without_tokens(const runtime::SamplingOptions& defaults) const;
};

// Returns the tokens whose text contains one of the strings.
std::vector<int32_t> tokens_with(const Tokenizer& tokenizer,
                                 const std::vector<std::string>& strings);

}  // namespace pippin::app
