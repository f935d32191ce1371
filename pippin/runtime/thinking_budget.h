// Limits the number of thinking tokens: a link of a sampling chain that then forces the mark that
// ends the thoughts.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pippin/runtime/sampling/processor.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::runtime {

// The mark before or after a model's thoughts: tokens, or else a text.
struct ThinkingMark {
  std::string text;
  std::vector<int32_t> ids;
};

class ThinkingBudget final : public LogitsProcessor {
 public:
  // `tokens` is the limit for all thoughts of an answer. `is_thinking`: the prompt has begun them.
  ThinkingBudget(ThinkingMark begin, ThinkingMark end, int64_t tokens, bool is_thinking,
                 const Tokenizer& tokenizer);

  void process(const SamplingContext& context, Candidates& candidates) override;
  void accept(int32_t id, Candidates& candidates) override;
  std::span<const int32_t> certain() const override {
    return std::span(forced_).subspan(num_taken_);
  }
  std::unique_ptr<LogitsProcessor> clone() const override;

 private:
  // Whether the expected mark has been generated.
  bool has_come() const;
  void force_end();

  const ThinkingMark begin_, end_;
  const Tokenizer tokenizer_;
  std::vector<int32_t> end_ids_;
  int64_t left_;
  bool is_thinking_;
  bool may_begin_ = true;    // a textual begin mark counts only at the start of the answer
  std::deque<int32_t> ids_;  // the last tokens
  std::string text_;         // the last bytes
  std::vector<int32_t> forced_;
  size_t num_taken_ = 0;  // of forced_
};

}  // namespace pippin::runtime
