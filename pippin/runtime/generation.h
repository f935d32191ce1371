// The generation of one text, without its sequence: chooses tokens and decides when the text ends.
// generate() uses one with its own sequence; a scheduler uses many with a Batch.
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
  // Throws the errors of SamplingOptions::check(), and Unsupported for sampling from a model
  // without logits.
  Generation(const Model& model, const GenerateOptions& options);

  // Adds tokens of the prompt, for penalties.
  void observe(std::span<const int32_t> ids) { sampler_.observe(ids); }

  // Chooses a token from the logits after the sequence's last one. Returns false for an end token,
  // which is not kept; otherwise the token is ids().back(). `draft` is the draft that was fed next,
  // or kNone. Throws the errors of Sampler::sample() and on_chosen.
  static constexpr int32_t kNone = -1;
  bool choose(Sequence& sequence, std::span<const float> logits, int32_t draft = kNone);

  // The row that choose() needs: Token or Top if the logits may be empty.
  Rows last_row() const { return last_row_; }

  // The tokens that certainly come next; changed by choose().
  std::span<const int32_t> certain() const { return sampler_.certain(); }
  // Whether a constraint allows only the end.
  bool must_end() const { return sampler_.must_end(); }

  const std::vector<int32_t>& ids() const { return ids_; }
  const std::vector<Logprobs>& logprobs() const { return logprobs_; }  // one per id, if wanted
  // Whether max_tokens is reached; true from the beginning if it is 0.
  bool is_complete() const { return std::ssize(ids_) == max_tokens_; }
  // The most tokens that may still come.
  int64_t left() const { return max_tokens_ < 0 ? INT64_MAX : max_tokens_ - std::ssize(ids_); }
  // ids() and logprobs(), moved out.
  std::vector<int32_t> take_ids() { return std::move(ids_); }
  std::vector<Logprobs> take_logprobs() { return std::move(logprobs_); }

 private:
  Sampler sampler_;
  std::vector<int32_t> end_ids_;
  int64_t max_tokens_, num_logprobs_;
  Rows last_row_ = Rows::Last;
  bool asks_model_;  // the model computes the argmax itself
  std::function<void(const ChosenToken&)> on_chosen_;
  std::vector<int32_t> ids_;
  std::vector<Logprobs> logprobs_;
};

}  // namespace pippin::runtime
