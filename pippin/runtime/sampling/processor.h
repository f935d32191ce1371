// A processor of the sampling chain and its context. Callers may add their own: a constraint's
// mask, a watermark, a bias by position.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "pippin/base/export.h"
#include "pippin/runtime/sampling/candidates.h"
#include "pippin/runtime/sampling/random.h"

namespace pippin::runtime {

// The tokens of a sequence so far: the prompt, then the text.
class PIPPIN_API TokenHistory {
 public:
  // The occurrences of a token.
  struct Count {
    int64_t all = 0, generated = 0;  // in prompt and text, and in the text alone
  };

  // Appends tokens of the prompt.
  void add_prompt(std::span<const int32_t> ids);
  // Appends a token of the text.
  void add_generated(int32_t id);

  // All tokens, in order.
  std::span<const int32_t> tokens() const { return tokens_; }
  // The index in tokens() where the text begins.
  size_t first_generated() const { return first_generated_; }
  // Returns the occurrences of each token among the last `last_n`; 0: among all. Valid until the
  // next call.
  const std::unordered_map<int32_t, Count>& counts(int64_t last_n) const;

 private:
  std::vector<int32_t> tokens_;
  size_t first_generated_ = 0;
  std::unordered_map<int32_t, Count> counts_;
  mutable std::unordered_map<int32_t, Count> recent_;  // scratch
};

// The state of a generation that processors read.
struct SamplingContext {
  const TokenHistory& history;  // the tokens so far
  RandomGenerator& random;      // this generation's own: the same seed draws the same numbers
};

// A step of the sampling chain.
class PIPPIN_API LogitsProcessor {
 public:
  virtual ~LogitsProcessor() = default;
  // Changes scores or removes candidates. At least one must remain.
  virtual void process(const SamplingContext& context, Candidates& candidates) = 0;
  // Called with the token that was chosen from the `candidates` that passed the chain.
  virtual void accept(int32_t /*id*/, Candidates& /*candidates*/) {}
  // The tokens that come next, whatever the logits: the processor allows no others. Valid until the
  // next accept().
  virtual std::span<const int32_t> certain() const { return {}; }
  // Whether the text is complete: it ends here, without an end token.
  virtual bool must_end() const { return false; }
  // A copy with the current state.
  virtual std::unique_ptr<LogitsProcessor> clone() const = 0;
};

}  // namespace pippin::runtime
