// Conversion of mono samples from one sampling rate to another, in pieces.
//
// A band-limited interpolation: a sinc function under Kaiser's window, with a pass band up to 90 %
// of the lower rate's highest frequency and 110 dB of attenuation above that frequency. The filter
// is tabulated for each position of an output sample between two input samples, of which common
// rates have few (44100 Hz to 16000 Hz: 160). libsamplerate's filter of this quality takes eight
// times as long, since it interpolates a finer table for each sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace pippin::sound {

class Resampler {
 public:
  // Fills its argument with samples and returns their number, 0 at the end.
  using Input = std::function<size_t(std::span<float> samples)>;

  // Throws Unsupported if the rates would need a table of more than 5 MB: odd
  // ones that are far apart.
  Resampler(int64_t from, int64_t to, Input input);

  // Returns the number of samples written, 0 at the end. In total, these are the input's samples *
  // to / from, rounded.
  size_t read(std::span<float> out);

 private:
  void make_table(double cutoff);
  // Reads input until the buffer has the sample at `position`, or the input has ended.
  void fill(int64_t position);
  float sample_at(int64_t position, int64_t remainder) const;

  int64_t from_, to_;  // without common factors
  Input input_;
  int64_t half_;               // taps on either side of a position
  int64_t phases_;             // rows of the table, apart from the last
  std::vector<float> table_;   // 2 * half_ values per row
  std::vector<float> buffer_;  // of input, from buffer_begin_ on
  int64_t buffer_begin_ = 0;
  int64_t num_read_ = 0, num_written_ = 0;
  bool ended_ = false;
};

}  // namespace pippin::sound
