// A package against the model that it was made from (runtime/agreement.h), held to limits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pippin/app/token_input.h"
#include "pippin/runtime/agreement.h"

namespace pippin::app {

// Limits that are not given are not checked.
struct VerifyLimits {
  std::optional<double> max_kl;                   // of the mean KL divergence, nats
  std::optional<double> min_top1;                 // percent of the same most likely token
  std::optional<double> max_perplexity_increase;  // percent above the source's
  // What step by step differs from all at once, and from a prompt in one piece, by the largest
  // logit.
  std::optional<double> max_step_difference, max_prefill_difference;
  std::optional<double> max_part_difference;  // of a part's hidden states, relative
  bool same_greedy = false;                   // the greedy texts
};

// The limits that do not hold, a line each.
std::vector<std::string> broken_limits(const VerifyLimits& limits,
                                       const runtime::Agreement& result);

struct VerifyOptions {
  runtime::AgreementOptions agreement;
  VerifyLimits limits;
};

struct VerifyResult {
  runtime::Agreement agreement;
  std::vector<std::string> broken;  // limits

  bool holds() const { return broken.empty(); }
};

// A text is split by the source's tokenizer. Throws as open_with_tokens() and
// runtime::compare_models().
VerifyResult verify(const ModelChoice& model, const ModelChoice& source, const TokenInput& tokens,
                    const VerifyOptions& options = {});

}  // namespace pippin::app
