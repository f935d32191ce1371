// Compares two models on a text: a compressed or converted model with its source.
//
// KL is the Kullback-Leibler divergence KL(source || model) of the next-token distributions, in
// nats. Perplexity is exp of the mean negative log-likelihood of each next token.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pippin/runtime/embedded_rows.h"
#include "pippin/runtime/model.h"

namespace pippin::runtime {

struct AgreementOptions {
  int64_t window = 512;  // tokens per part of the text, at most the smaller context
  int64_t greedy_tokens = 64;
  int64_t greedy_prompt = 16;  // text tokens that the greedy continuation starts from
  int64_t step_tokens = 64;    // tokens that are also fed one by one
  // The rows of images that `ids` has the ids of (row_ids.h), as each of the models computes them.
  // The text is then one window, the greedy continuation starts after it, and no tokens are fed one
  // by one, since the rows of an image may need each other.
  std::vector<std::shared_ptr<const EmbeddedRows>> rows = {}, source_rows = {};
  // Called with the number of tokens fed so far and the total.
  std::function<void(uint64_t done, uint64_t total)> progress = {};
};

// The output of one part of the model, compared with the closest part of the source.
struct PartAgreement {
  std::string part, source_part;
  double difference = 0;  // RMS of the difference over RMS of the source's output
};

struct Agreement {
  int64_t tokens = 0;       // positions whose distributions were compared
  int64_t next_tokens = 0;  // those among them followed by a token of the text
  double mean_kl = 0, max_kl = 0;
  double top1 = 0;  // share of positions with the same most likely token
  double perplexity = 0, source_perplexity = 0;  // 0 if no token follows another
  int64_t greedy_tokens = 0;
  std::optional<int64_t> first_difference;  // of the greedy continuations; empty: none
  // The largest logit difference between one pass and token by token, relative to the row's
  // largest.
  double step_difference = 0, source_step_difference = 0;
  // The same for prefill: prompts of growing length (up to step_tokens) are fed in one pass and
  // token by token, each followed by one token, which sees the cache that the prompt left.
  double prefill_difference = 0, source_prefill_difference = 0;
  // Of the rows of images, relative to the largest number of the source's; empty: no images.
  std::optional<double> image_difference;
  std::vector<PartAgreement> parts;  // if both models have parts (Sequence::trace)
};

// Compares the models, with one sequence of each. If a model has no logits (greedy_only), only the
// greedy continuations are compared and `tokens` is 0. Throws InvalidArgument (no tokens,
// vocabularies of different sizes, ids out of range), InvalidFile (a logit that is NaN) and
// Cancelled.
Agreement compare_models(Model& model, Model& source, std::span<const int32_t> ids,
                         const AgreementOptions& options = {});

// The part of an agreement that adds up: that of several texts is the sum of each.
struct AgreementSums {
  int64_t tokens = 0, next_tokens = 0, same = 0;
  double kl = 0, max_kl = 0;
  double log_likelihood = 0, source_log_likelihood = 0;

  void add(const AgreementSums& other);
  // Without greedy texts, steps and parts.
  Agreement agreement() const;
};

// Compares the logits after each token of a text, which may be empty. Throws as compare_models().
AgreementSums compare_logits(Model& model, Model& source, std::span<const int32_t> ids,
                             int64_t window);

}  // namespace pippin::runtime
