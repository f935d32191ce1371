// How many tokens of a prompt to read in a step, so that the step takes about as long as wished:
// those who decode wait for it.
#pragma once

#include <cstdint>

namespace pippin::serve {

// Estimates run along with what is measured. Used by one thread.
class PieceSize {
 public:
  explicit PieceSize(double step_seconds) : step_seconds_(step_seconds) {}

  // Of a prompt with `left` tokens, after next tokens that took `decode_seconds` of this step: what
  // they leave of it, but half as long as they took at least, so that prompts go on behind many
  // that decode. 0 where nobody decodes: then a piece may take kAlone steps.
  int64_t choose(int64_t left, double decode_seconds) const;
  // What a piece took.
  void measured(int64_t tokens, double seconds);

  double tokens_per_second() const { return rate_; }

  static constexpr int64_t kFirst = 32;
  static constexpr int64_t kLeast = 4;  // fewer cost nearly as much as these
  static constexpr double kAlone = 4;

 private:
  double step_seconds_;
  double rate_ = 0;  // 0: nothing was measured
};

}  // namespace pippin::serve
