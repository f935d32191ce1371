// A constraint as a link of a sampling chain: tokens that it forbids are removed from the
// candidates.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "pippin/constrain/constraint.h"
#include "pippin/runtime/sampling/processor.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::runtime {

// If only one text can follow, its tokens are certain (constrain/forced_tokens.h) and can be fed
// together. End tokens are allowed where the text may end; if nothing else is allowed, the text
// ends (LogitsProcessor::must_end). process() throws LimitExceeded as the constraint does, and
// Unsupported if no token of the vocabulary can continue the text.
class ConstrainedSampling final : public LogitsProcessor {
 public:
  // Without a tokenizer no tokens are certain.
  ConstrainedSampling(std::shared_ptr<constrain::Constraint> constraint,
                      std::vector<int32_t> end_ids, std::optional<Tokenizer> tokenizer = {});

  void process(const SamplingContext& context, Candidates& candidates) override;
  void accept(int32_t id, Candidates& candidates) override;
  std::span<const int32_t> certain() const override {
    return std::span(certain_).subspan(num_taken_);
  }
  bool must_end() const override;
  std::unique_ptr<LogitsProcessor> clone() const override;

 private:
  constrain::ConstrainedText text_;
  std::vector<int32_t> end_ids_;
  std::optional<Tokenizer> tokenizer_;
  std::vector<int32_t> last_;  // the last tokens of the text
  std::vector<int32_t> certain_;
  size_t num_taken_ = 0;  // of the certain tokens
};

}  // namespace pippin::runtime
