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
  struct Count {
    int64_t all = 0, generated = 0;
  };

  void add_prompt(std::span<const int32_t> ids);
  void add_generated(int32_t id);

  std::span<const int32_t> tokens() const { return tokens_; }
  size_t first_generated() const { return first_generated_; }
  // The occurrences of each token among the last `last_n`; 0: among all.
  const std::unordered_map<int32_t, Count>& counts(int64_t last_n) const;

 private:
  std::vector<int32_t> tokens_;
  size_t first_generated_ = 0;
  std::unordered_map<int32_t, Count> counts_;
  mutable std::unordered_map<int32_t, Count> recent_;  // scratch
};

struct SamplingContext {
  const TokenHistory& history;
  RandomGenerator& random;  // this generation's own: the same seed draws the same numbers
};

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
