// Discrete Fourier transforms of any size, of two frames at a time.
//
// A value is a pair of doubles, one per frame, which every common CPU adds and multiplies as one
// vector. Doubles, because features take logarithms of powers that are 80 dB below a frame's
// loudest bin, where the rounding of floats would be visible.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pippin::sound {

// A value of two frames.
using Pair = double __attribute__((vector_size(16)));

// A complex value of two frames.
struct ComplexPair {
  Pair re, im;
};

// The transform of `size` complex values: X[k] = sum of x[n] e^(-2 pi i k n / size). The time is
// proportional to size times the sum of the size's prime factors; 2, 3, 4 and 5 have formulas of
// their own.
class Fft {
 public:
  explicit Fft(size_t size);

  size_t size() const { return size_; }
  // Transforms `values` in place; both arrays have size() elements.
  void transform(ComplexPair* values, ComplexPair* scratch) const;

 private:
  // One factor of the size: splits transforms of `count * radix` values, of which `stride` are
  // interleaved.
  struct Pass {
    size_t radix, count, stride;
  };
  void run(const Pass& pass, const ComplexPair* from, ComplexPair* to) const;
  void run_any(const Pass& pass, const ComplexPair* from, ComplexPair* to) const;

  size_t size_;
  std::vector<Pass> passes_;
  std::vector<std::complex<double>> roots_;  // e^(-2 pi i k / size)
};

// The power spectrum of `size` real values: |X[k]|^2 for k up to size / 2.
class PowerSpectrum {
 public:
  explicit PowerSpectrum(size_t size);

  size_t size() const { return size_; }
  size_t num_bins() const { return size_ / 2 + 1; }
  // Number of elements of the work area.
  size_t scratch_size() const { return 2 * fft_.size(); }
  // Transforms size() values into num_bins() powers.
  void compute(const Pair* values, Pair* powers, ComplexPair* scratch) const;

 private:
  size_t size_;
  Fft fft_;  // of half the size if that is an integer
  std::vector<std::complex<double>> roots_;
};

}  // namespace pippin::sound
