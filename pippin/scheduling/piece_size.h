// Chooses how many prompt tokens to read in a step, so that the step takes about the wanted time:
// decoding sequences wait for it.
#pragma once

#include <cstdint>

namespace pippin::scheduling {

// Updates its estimates with each measurement. Used by one thread.
class PieceSize {
 public:
  explicit PieceSize(double step_seconds) : step_seconds_(step_seconds) {}

  // For a prompt with `left` tokens, after decoding took `decode_seconds` of this step: the time
  // left of the step, but at least half of decode_seconds, so that prompts progress next to many
  // decoding sequences. 0 if no sequence decodes: a piece may then take kAlone steps.
  int64_t choose(int64_t left, double decode_seconds) const;
  // Records the time of a piece.
  void measured(int64_t tokens, double seconds);

  double tokens_per_second() const { return rate_; }

  static constexpr int64_t kFirst = 32;
  static constexpr int64_t kLeast = 4;  // fewer take nearly as long
  static constexpr double kAlone = 4;

 private:
  double step_seconds_;
  double rate_ = 0;  // 0: not measured
};

}  // namespace pippin::scheduling
