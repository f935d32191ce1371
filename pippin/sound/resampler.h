// Conversion of mono samples from one sampling rate to another, in pieces.
//
// By libsamplerate rather than libsoxr, because its licence (BSD) allows releases to contain it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace pippin::sound {

// A band-limited interpolation (libsamplerate's sinc filter of medium length: signal to noise 121
// dB, bandwidth 90 %). The output has the length of the input: frames * to / from, rounded.
class Resampler {
 public:
  // Fills its argument with samples and returns their number, 0 at the end.
  using Input = std::function<size_t(std::span<float> samples)>;

  // Throws Unsupported if the rates are too far apart.
  Resampler(int64_t from, int64_t to, Input input);
  Resampler(Resampler&&) noexcept;
  Resampler& operator=(Resampler&&) noexcept;
  ~Resampler();

  // Returns the number of samples written, 0 at the end.
  size_t read(std::span<float> out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pippin::sound
