// A generation without its sequence: which token comes next, and whether the text ends there.
// generate() drives one with a sequence of its own; a scheduler drives many with a Batch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "pippin/runtime/generator.h"
#include "pippin/runtime/sampling/sampler.h"

namespace pippin::runtime {

class Generation {
 public:
  // Throws InvalidArgument as SamplingOptions::check(), Unsupported for sampling from a model
  // without logits.
  Generation(const Model& model, const GenerateOptions& options);

  // Tokens of the prompt, for penalties.
  void observe(std::span<const int32_t> ids) { sampler_.observe(ids); }

  // Chooses a token by the logits after the sequence's last one. False for an end token, which is
  // not kept; otherwise the token is ids().back(). `draft` is the guess that was fed behind, kNone:
  // there is none. Throws as Sampler::sample(), and what on_chosen throws.
  static constexpr int32_t kNone = -1;
  bool choose(Sequence& sequence, std::span<const float> logits, int32_t draft = kNone);

  // The tokens that come next for certain; changed by choose().
  std::span<const int32_t> certain() const { return sampler_.certain(); }
  // Whether a constraint leaves nothing but the end.
  bool must_end() const { return sampler_.must_end(); }

  const std::vector<int32_t>& ids() const { return ids_; }
  const std::vector<Logprobs>& logprobs() const { return logprobs_; }  // one per id, if asked for
  // Whether there are as many tokens as were asked for; from the beginning, if that is none.
  bool is_complete() const { return std::ssize(ids_) == max_tokens_; }
  // How many tokens may still come.
  int64_t left() const { return max_tokens_ < 0 ? INT64_MAX : max_tokens_ - std::ssize(ids_); }
  // ids() and logprobs(), moved out.
  std::vector<int32_t> take_ids() { return std::move(ids_); }
  std::vector<Logprobs> take_logprobs() { return std::move(logprobs_); }

 private:
  Sampler sampler_;
  std::vector<int32_t> end_ids_;
  int64_t max_tokens_, num_logprobs_;
  bool asks_model_;  // which computes the argmax itself
  std::function<void(const ChosenToken&)> on_chosen_;
  std::vector<int32_t> ids_;
  std::vector<Logprobs> logprobs_;
};

}  // namespace pippin::runtime
