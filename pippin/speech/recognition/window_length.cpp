#include "pippin/speech/recognition/window_length.h"

#include <algorithm>
#include <vector>

namespace pippin::speech {

size_t window_length(std::span<const float> rest, size_t most, int64_t sampling_rate) {
  if (rest.size() <= most) return rest.size();
  const auto rate = static_cast<size_t>(sampling_rate);
  const size_t next = std::min(rate, most / 4);
  const size_t end = std::min(most, rest.size() - next);
  const size_t begin = most - most / 3;
  constexpr size_t kSteps = 10;  // of the quietest part
  const size_t step = std::max<size_t>(rate / 100, 1);
  const size_t count = end > begin ? (end - begin) / step : 0;
  if (count < kSteps) return end;
  std::vector<double> energies(count);
  for (size_t i = 0; i < count; ++i) {
    for (const float sample : rest.subspan(begin + i * step, step)) {
      energies[i] += static_cast<double>(sample) * sample;
    }
  }
  size_t best = 0;
  double least = 0;
  for (size_t i = 0; i + kSteps <= count; ++i) {
    double energy = 0;
    for (size_t k = 0; k < kSteps; ++k) energy += energies[i + k];
    if (i > 0 && energy > least) continue;
    least = energy;
    best = i;
  }
  return begin + (best + kSteps / 2) * step;
}

}  // namespace pippin::speech
