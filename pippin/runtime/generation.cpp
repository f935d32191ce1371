#include "pippin/runtime/generation.h"

#include <algorithm>

#include "pippin/base/error.h"

namespace pippin::runtime {

Generation::Generation(const Model& model, const GenerateOptions& options)
    : sampler_(options.sampling),
      end_ids_(options.end_ids),
      max_tokens_(options.max_tokens),
      num_logprobs_(options.logprobs),
      on_chosen_(options.on_chosen) {
  const bool greedy = options.sampling.is_plain_greedy() && options.processors.empty();
  const bool is_plain = options.processors.empty() && options.logprobs < 0 && !options.on_chosen;
  if (greedy && is_plain) last_row_ = Rows::Token;
  if (options.sampling.is_plain_top_k() && is_plain) last_row_ = Rows::Top;
  // If the model has logits, scanning their row is faster than running its argmax.
  asks_model_ = greedy && model.capabilities().greedy_only;
  if (model.capabilities().greedy_only && (!greedy || options.logprobs >= 0)) {
    fail(ErrorCode::Unsupported,
         "this model chooses its most likely token itself and has no logits to sample from: no "
         "temperature, penalties, biases, processors or log probabilities");
  }
  for (const auto& processor : options.processors) sampler_.add(processor->clone());
}

bool Generation::choose(Sequence& sequence, std::span<const float> logits, int32_t draft) {
  const bool asks = asks_model_ || (last_row_ == Rows::Token && logits.empty());
  const auto known = asks ? sequence.greedy_token() : std::nullopt;
  const bool has_top = last_row_ == Rows::Top && logits.empty();
  const int32_t id = known     ? *known
                     : has_top ? sampler_.sample_most_likely(sequence.most_likely())
                               : sampler_.sample(logits);
  const bool is_end = std::find(end_ids_.begin(), end_ids_.end(), id) != end_ids_.end();
  if (on_chosen_) on_chosen_({id, logits, is_end, id == draft});
  if (is_end) return false;
  ids_.push_back(id);
  if (num_logprobs_ >= 0) logprobs_.push_back(logprobs_of(logits, id, num_logprobs_));
  return true;
}

}  // namespace pippin::runtime
