#include "pippin/speech/recognition/window_length.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace pippin::speech {

WindowEnd window_end(std::span<const float> rest, size_t most, int64_t sampling_rate) {
  if (rest.size() <= most) return {rest.size()};
  const auto rate = static_cast<size_t>(sampling_rate);
  const size_t next = std::min(rate, most / 4);
  const size_t end = std::min(most, rest.size() - next);
  const size_t begin = most - most / 3;
  constexpr size_t kSteps = 10;  // of the quietest part
  const size_t step = std::max<size_t>(rate / 100, 1);
  const size_t count = end > begin ? (end - begin) / step : 0;
  if (count < kSteps) return {end, false};
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
  const double all = std::accumulate(energies.begin(), energies.end(), 0.0);
  const bool is_quiet = least * static_cast<double>(count) <= kPowerOfPauses * kSteps * all;
  return {begin + (best + kSteps / 2) * step, is_quiet};
}

size_t window_length(std::span<const float> rest, size_t most, int64_t sampling_rate) {
  return window_end(rest, most, sampling_rate).length;
}

std::vector<double> window_clips(std::span<const float> recording, std::span<const double> clips,
                                 size_t most, int64_t sampling_rate) {
  const auto rate = static_cast<double>(sampling_rate);
  const auto sample_at = [&](double seconds) {
    return static_cast<size_t>(std::min(seconds * rate, static_cast<double>(recording.size())));
  };
  std::vector<double> windows;
  const auto add = [&](size_t begin, size_t end) {
    while (begin < end) {
      const size_t length =
          window_length(recording.subspan(begin, end - begin), most, sampling_rate);
      windows.push_back(static_cast<double>(begin) / rate);
      windows.push_back(static_cast<double>(begin + length) / rate);
      begin += length;
    }
  };
  if (clips.empty()) add(0, recording.size());
  for (size_t i = 0; i < clips.size(); i += 2) {
    add(sample_at(clips[i]), i + 1 < clips.size() ? sample_at(clips[i + 1]) : recording.size());
  }
  return windows;
}

}  // namespace pippin::speech
