#include "pippin/sound/mel_spectrogram.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "pippin/base/error.h"

namespace pippin::sound {

// Buffers for two frames.
struct MelSpectrogram::Work {
  std::vector<Pair> values, powers;
  std::vector<ComplexPair> scratch;
  std::vector<double> frame, sums[2];
  bool silent[2] = {};  // the frame has only padding
};

MelSpectrogram::MelSpectrogram(FrameOptions options, std::vector<MelBand> bands)
    : options_(std::move(options)), bands_(std::move(bands)), spectrum_(options_.fft_size) {
  // A window that is shorter than the FFT lies in the middle of it.
  const auto margin = static_cast<int64_t>((options_.fft_size - options_.window.size()) / 2);
  if (options_.edge != Edge::None) origin_ = margin - static_cast<int64_t>(options_.fft_size / 2);
}

size_t MelSpectrogram::num_frames(size_t length) const {
  if (options_.edge != Edge::None) return 1 + length / options_.hop;
  if (length < options_.window.size()) return 0;
  return 1 + (length - options_.window.size()) / options_.hop;
}

void MelSpectrogram::check_length(size_t length) const {
  size_t least = 1;
  if (options_.edge == Edge::None) least = options_.window.size();
  if (options_.edge == Edge::Reflect) least = options_.fft_size / 2 + 1;
  if (length >= least) return;
  fail(ErrorCode::InvalidArgument, "the recording has {} samples, the features need at least {}",
       length, least);
}

// Writes the windowed samples of a frame to one lane of the pair.
void MelSpectrogram::load(const PaddedSamples& input, size_t frame, size_t lane, Work& work) const {
  const int64_t begin = origin_ + static_cast<int64_t>(frame * options_.hop);
  const auto length = static_cast<int64_t>(input.length);
  const int64_t stored = std::min(length, static_cast<int64_t>(input.samples.size()));
  const size_t size = options_.window.size();
  work.silent[lane] = begin >= stored && (options_.edge != Edge::Reflect ||
                                          begin + static_cast<int64_t>(size) < 2 * length - stored);
  if (work.silent[lane]) return;
  std::vector<double>& values = work.frame;
  if (begin >= 0 && begin + static_cast<int64_t>(size) <= stored) {
    const float* source = input.samples.data() + begin;
    for (size_t i = 0; i < size; ++i) values[i] = options_.scale * source[i];
  } else {
    for (size_t i = 0; i < size; ++i) {
      int64_t at = begin + static_cast<int64_t>(i);
      if (options_.edge == Edge::Reflect) {
        at = std::abs(at);
        if (at >= length) at = 2 * (length - 1) - at;
      }
      const bool inside = at >= 0 && at < stored;
      values[i] = inside ? options_.scale * input.samples[static_cast<size_t>(at)] : 0;
    }
  }
  if (options_.remove_mean) {
    double sum = 0;
    for (double value : values) sum += value;
    const double mean = sum / static_cast<double>(size);
    for (double& value : values) value -= mean;
  }
  if (options_.preemphasis != 0) {
    // The first sample is taken for its own predecessor.
    for (size_t i = size; i-- > 1;) values[i] -= options_.preemphasis * values[i - 1];
    values[0] *= 1 - options_.preemphasis;
  }
  for (size_t i = 0; i < size; ++i) work.values[i][lane] = values[i] * options_.window[i];
}

void MelSpectrogram::compute(const PaddedSamples& input, size_t first, size_t last,
                             const Sink& sink) const {
  Work work;
  work.values.resize(options_.fft_size);
  work.powers.resize(spectrum_.num_bins());
  work.scratch.resize(spectrum_.scratch_size());
  work.frame.resize(options_.window.size());
  for (auto& sums : work.sums) sums.resize(bands_.size());
  for (size_t frame = first; frame < last; frame += 2) {
    const size_t count = std::min<size_t>(2, last - frame);
    for (size_t lane = 0; lane < count; ++lane) load(input, frame + lane, lane, work);
    if (!work.silent[0] || (count == 2 && !work.silent[1])) {
      spectrum_.compute(work.values.data(), work.powers.data(), work.scratch.data());
      if (options_.magnitudes) {
        for (Pair& power : work.powers) power = Pair{std::sqrt(power[0]), std::sqrt(power[1])};
      }
      for (size_t band = 0; band < bands_.size(); ++band) {
        const auto& weights = bands_[band].weights;
        const Pair* powers = work.powers.data() + bands_[band].first_bin;
        Pair sum = {};
        for (size_t i = 0; i < weights.size(); ++i) sum += weights[i] * powers[i];
        work.sums[0][band] = sum[0];
        work.sums[1][band] = sum[1];
      }
    }
    for (size_t lane = 0; lane < count; ++lane) {
      if (work.silent[lane]) std::fill(work.sums[lane].begin(), work.sums[lane].end(), 0.0);
      sink(frame + lane, work.sums[lane]);
    }
  }
}

}  // namespace pippin::sound
