#include "pippin/runtime/generation.h"

#include <algorithm>

#include "pippin/base/error.h"

namespace pippin::runtime {

Generation::Generation(const Model& model, const GenerateOptions& options)
    : sampler_(options.sampling),
      end_ids_(options.end_ids),
      max_tokens_(options.max_tokens),
      num_logprobs_(options.logprobs) {
  const bool greedy = options.sampling.is_plain_greedy() && options.processors.empty();
  // Of a model with logits its row is quicker looked through than its files are run.
  asks_model_ = greedy && model.capabilities().greedy_only;
  if (model.capabilities().greedy_only && (!greedy || options.logprobs >= 0)) {
    fail(ErrorCode::Unsupported,
         "this model chooses its most likely token itself and has no logits to sample from: no "
         "temperature, penalties, biases, processors or log probabilities");
  }
  for (const auto& processor : options.processors) sampler_.add(processor->clone());
}

bool Generation::choose(Sequence& sequence, std::span<const float> logits) {
  const auto known = asks_model_ ? sequence.greedy_token() : std::nullopt;
  const int32_t id = known ? *known : sampler_.sample(logits);
  if (std::find(end_ids_.begin(), end_ids_.end(), id) != end_ids_.end()) return false;
  ids_.push_back(id);
  if (num_logprobs_ >= 0) logprobs_.push_back(logprobs_of(logits, id, num_logprobs_));
  return true;
}

}  // namespace pippin::runtime
