// A constraint in a sampling chain: what is not allowed is no candidate.
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

// Where only one text can follow its tokens are certain (constrain/forced_tokens.h), so that they
// can be fed together. End tokens may come where the text may end; where nothing else could come
// the text ends by itself (LogitsProcessor::must_end). Throws, from process(), LimitExceeded as the
// constraint does, and Unsupported where the vocabulary has no token for what would have to come.
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
  std::vector<int32_t> last_;  // tokens of the text
  std::vector<int32_t> certain_;
  size_t num_taken_ = 0;  // of the certain ones
};

}  // namespace pippin::runtime
