// Compares a package with the model that it was made from (runtime/agreement.h), and checks limits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pippin/app/token_input.h"
#include "pippin/runtime/agreement.h"

namespace pippin::app {

// Unset limits are not checked.
struct VerifyLimits {
  std::optional<double> max_kl;                   // mean KL divergence, nats
  std::optional<double> min_top1;                 // percentage of equal most likely tokens
  std::optional<double> max_perplexity_increase;  // percent above the source's
  // The largest difference of a logit between step by step and all at once, and between a prefill
  // and a prompt in one piece.
  std::optional<double> max_step_difference, max_prefill_difference;
  std::optional<double> max_part_difference;  // relative, for a part's hidden states
  bool same_greedy = false;                   // the greedy texts must be equal
};

// Throws InvalidArgument for a negative limit, and for one that is not a number. All functions that
// compare do that first.
void check_limits(const VerifyLimits& limits);

// The limits exceeded, one line each.
std::vector<std::string> broken_limits(const VerifyLimits& limits,
                                       const runtime::Agreement& result);

struct VerifyOptions {
  runtime::AgreementOptions agreement;
  VerifyLimits limits;
};

struct VerifyResult {
  runtime::Agreement agreement;
  std::vector<std::string> broken;  // limits exceeded

  bool holds() const { return broken.empty(); }
};

// Texts are split by the source's tokenizer. Throws as open_with_tokens() and
// runtime::compare_models(), and InvalidArgument for a model of speech.
VerifyResult verify(const ModelChoice& model, const ModelChoice& source, const TokenInput& tokens,
                    const VerifyOptions& options = {});

// The same for a text with images, whose rows each model computes with its own tower; they are
// compared, too. Throws InvalidArgument for models that make different prompts of them, and for
// limits that are not measured.
VerifyResult verify_images(const ModelChoice& model, const ModelChoice& source,
                           const TokenInput& tokens, const VerifyOptions& options);

// Compares models of speech on a recording, window by window: as parts the states of the encoders
// and, token by token, the logits of the decoders, fed the source's most likely tokens, at most
// AgreementOptions::greedy_tokens of a window. Of CTC models the scores of each frame are compared,
// of other recognizers the states and the tokens. Perplexity and differences of steps are not
// measured. Throws as open_speech() and sound::read_sound(); InvalidArgument for models of
// different kinds or shapes, an empty recording, and limits that are not measured.
VerifyResult verify_speech(const ModelChoice& model, const ModelChoice& source,
                           const std::string& recording, const VerifyOptions& options = {});

}  // namespace pippin::app
