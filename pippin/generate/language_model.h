// A causal language model that is being fed one sequence: token ids in, logits out.
//
// Generation, the server and the checks know a model through this interface only; each package
// family implements it. A model keeps what it was fed (its KV cache), so a longer sequence costs
// only its new tokens.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pippin::generate {

class LanguageModel {
 public:
  virtual ~LanguageModel() = default;

  virtual int64_t context() const = 0;  // the most tokens that a sequence can have
  virtual int64_t vocab_size() const = 0;
  virtual int64_t position() const = 0;  // tokens fed so far
  virtual void reset() = 0;              // forgets the sequence

  // Feeds tokens and gives the logits that follow the last one; valid until the next call. Throws
  // InvalidArgument for ids that are not in the vocabulary, LimitExceeded where the sequence would
  // pass the context, Cancelled on Ctrl-C between parts of a long prompt.
  virtual std::span<const float> prefill(std::span<const int32_t> ids) = 0;
  virtual std::span<const float> decode(int32_t id) = 0;

  // As prefill, with the logits that follow every token: ids.size() rows of vocab_size().
  virtual std::vector<float> all_logits(std::span<const int32_t> ids) = 0;
};

// What prefill() and decode() throw for wrong ids.
void check_ids(const LanguageModel& model, std::span<const int32_t> ids);

}  // namespace pippin::generate
