#include "pippin/scheduling/piece_size.h"

#include <algorithm>

namespace pippin::scheduling {

int64_t PieceSize::choose(int64_t left, double decode_seconds) const {
  if (rate_ == 0) return std::min(left, kFirst);
  const double seconds = decode_seconds > 0
                             ? std::max(step_seconds_ - decode_seconds, decode_seconds / 2)
                             : kAlone * step_seconds_;
  // Clamped before it is converted to an integer.
  const double tokens = std::clamp(seconds * rate_, 0.0, static_cast<double>(left));
  const int64_t size = static_cast<int64_t>(tokens) / kLeast * kLeast;
  // Does not leave a short remainder for another step.
  const int64_t piece = std::max(size, kLeast);
  return left - piece < kLeast ? left : piece;
}

void PieceSize::measured(int64_t tokens, double seconds) {
  if (tokens < kLeast || seconds <= 0) return;
  const double rate = static_cast<double>(tokens) / seconds;
  rate_ = rate_ == 0 ? rate : (rate_ + rate) / 2;
}

}  // namespace pippin::scheduling
