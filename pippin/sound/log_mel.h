// Rows of logarithms of a mel spectrogram, one per frame.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "pippin/sound/features.h"
#include "pippin/sound/mel_spectrogram.h"

namespace pippin::sound {

// The smallest difference of floats from 1, as Kaldi limits powers.
inline constexpr double kKaldiFloor = 1.192092955078125e-07;

// Returns the frames of the input, of which each sum is `transform`ed.
template <typename Transform>
std::vector<float> mel_rows(const MelSpectrogram& spectrogram, const PaddedSamples& input,
                            Transform&& transform) {
  spectrogram.check_length(input.length);
  const size_t count = spectrogram.num_frames(input.length);
  std::vector<float> rows(count * spectrogram.num_bands());
  spectrogram.compute(input, 0, count, [&](size_t frame, std::span<const double> sums) {
    float* row = rows.data() + frame * sums.size();
    for (size_t i = 0; i < sums.size(); ++i) row[i] = static_cast<float>(transform(sums[i]));
  });
  return rows;
}

// Returns the natural logarithms, of values limited to `floor` from below.
inline std::vector<float> log_mel_rows(const MelSpectrogram& spectrogram,
                                       const PaddedSamples& input, double floor) {
  return mel_rows(spectrogram, input,
                  [floor](double sum) { return std::log(std::max(sum, floor)); });
}

// Returns rows as an array of shape (1, rows, columns).
inline Features row_features(std::string name, std::vector<float> values, size_t columns) {
  Features features;
  features.name = std::move(name);
  features.shape = {1, static_cast<int64_t>(values.size() / columns),
                    static_cast<int64_t>(columns)};
  features.values = std::move(values);
  return features;
}

// Adds a mask of `size` elements, of which the first `count` are 1.
inline void add_mask(Features& features, std::string name, size_t size, size_t count) {
  features.mask_name = std::move(name);
  features.mask.assign(size, 0);
  std::fill_n(features.mask.begin(), std::min(size, count), 1);
}

}  // namespace pippin::sound
