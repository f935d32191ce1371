// A link of the chain that chooses tokens, and what it may look at. Callers add their own to a
// Sampler: a constraint's mask, a watermark, a bias by position.
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
  // How often each token is among the last `last_n`; 0: among all.
  const std::unordered_map<int32_t, Count>& counts(int64_t last_n) const;

 private:
  std::vector<int32_t> tokens_;
  size_t first_generated_ = 0;
  std::unordered_map<int32_t, Count> counts_;
  mutable std::unordered_map<int32_t, Count> recent_;  // scratch
};

struct SamplingContext {
  const TokenHistory& history;
  RandomGenerator& random;  // the sequence's own: the same seed draws the same numbers
};

class PIPPIN_API LogitsProcessor {
 public:
  virtual ~LogitsProcessor() = default;
  // Changes scores or takes candidates out. At least one has to stay.
  virtual void process(const SamplingContext& context, Candidates& candidates) = 0;
  // What was chosen of the `candidates` that went through the chain.
  virtual void accept(int32_t /*id*/, Candidates& /*candidates*/) {}
  // With the state that it has now, for a copy of the sampler.
  virtual std::unique_ptr<LogitsProcessor> clone() const = 0;
};

}  // namespace pippin::runtime
