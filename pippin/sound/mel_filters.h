// Filters that sum the bins of a spectrum into bands of the mel scale, and window functions.
//
// The formulas are those of transformers' audio_utils.mel_filter_bank and window_function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pippin::sound {

enum class MelScale : uint8_t { Htk, Kaldi, Slaney };

struct MelOptions {
  int64_t num_bands = 80;
  size_t fft_size = 0;  // the spectrum has fft_size / 2 + 1 bins
  double sampling_rate = 0;
  double min_hertz = 0, max_hertz = 0;
  MelScale scale = MelScale::Slaney;
  bool unit_area = false;      // each triangle's area is 1 (Slaney's norm) instead of its height
  bool linear_in_mel = false;  // triangles are straight over mels instead of hertz
  bool without_first_bin = false;  // the bin of frequency 0 is in no band
};

// One band: the weights of neighbouring bins, of which the others are 0.
struct MelBand {
  size_t first_bin = 0;
  std::vector<double> weights;
};

double hertz_to_mel(double hertz, MelScale scale);
double mel_to_hertz(double mel, MelScale scale);
std::vector<MelBand> mel_bands(const MelOptions& options);

// Bands of given weights, [bands, bins].
std::vector<MelBand> given_bands(const std::vector<double>& weights, size_t bins);

enum class Window : uint8_t { Hann, Hamming, Povey };
// A periodic window has the period `length`, a symmetric one `length - 1`.
std::vector<double> window_function(Window window, size_t length, bool periodic);

}  // namespace pippin::sound
