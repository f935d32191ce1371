// How far two models agree on a text: a compressed or converted one with its source.
//
// KL is the Kullback-Leibler divergence of the model's next-token distribution from the source's,
// in nats, KL(source || model); perplexity is exp of the mean negative log-likelihood of each next
// token.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pippin/runtime/model.h"

namespace pippin::runtime {

struct AgreementOptions {
  int64_t window = 512;  // the text is cut into parts of so many tokens, at most the contexts
  int64_t greedy_tokens = 64;
  int64_t greedy_prompt = 16;  // tokens of the text that the greedy continuation starts from
  int64_t step_tokens = 64;    // that are fed one by one as well
  // Called with the tokens that were fed so far and those to come.
  std::function<void(uint64_t done, uint64_t total)> progress = {};
};

// The output of a part of the model, compared with the closest part of the source.
struct PartAgreement {
  std::string part, source_part;
  double difference = 0;  // root of the squared difference over the root of the source's energy
};

struct Agreement {
  int64_t tokens = 0;       // positions whose distributions were compared
  int64_t next_tokens = 0;  // of which so many are followed by a token of the text
  double mean_kl = 0, max_kl = 0;
  double top1 = 0;  // share of positions with the same most likely token
  double perplexity = 0, source_perplexity = 0;  // 0 where no token follows another
  int64_t greedy_tokens = 0;
  std::optional<int64_t> first_difference;  // in the greedy continuations; none: they are the same
  // Largest difference of a logit between all at once and step by step, by the row's largest.
  double step_difference = 0, source_step_difference = 0;
  // The same between what follows a prompt in one piece and step by step: prompts of growing
  // length up to step_tokens, and a token after each, which sees what the prompt left in the cache.
  double prefill_difference = 0, source_prefill_difference = 0;
  std::vector<PartAgreement> parts;  // where both models are made of parts (Sequence::trace)
};

// With a sequence of each. Of a model that only knows its most likely token the greedy
// continuations are compared and nothing else: tokens is 0. Throws InvalidArgument (no tokens,
// vocabularies of different sizes, ids outside of them), InvalidFile (a logit that is not a
// number), Cancelled.
Agreement compare_models(Model& model, Model& source, std::span<const int32_t> ids,
                         const AgreementOptions& options = {});

}  // namespace pippin::runtime
