#include "pippin/sound/fft.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace pippin::sound {

namespace {

ComplexPair operator+(const ComplexPair& a, const ComplexPair& b) {
  return {a.re + b.re, a.im + b.im};
}
ComplexPair operator-(const ComplexPair& a, const ComplexPair& b) {
  return {a.re - b.re, a.im - b.im};
}
ComplexPair operator*(double factor, const ComplexPair& a) {
  return {factor * a.re, factor * a.im};
}
ComplexPair operator*(const std::complex<double>& factor, const ComplexPair& a) {
  return {factor.real() * a.re - factor.imag() * a.im, factor.real() * a.im + factor.imag() * a.re};
}
// i times the value.
ComplexPair turned(const ComplexPair& a) {
  return {-a.im, a.re};
}

std::vector<std::complex<double>> roots_of_unity(size_t size, size_t count) {
  std::vector<std::complex<double>> roots(count);
  for (size_t k = 0; k < count; ++k) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(size);
    roots[k] = {std::cos(angle), std::sin(angle)};
  }
  return roots;
}

std::vector<size_t> factors_of(size_t size) {
  std::vector<size_t> factors;
  for (size_t factor : {4, 2, 3, 5}) {
    for (; size % factor == 0; size /= factor) factors.push_back(factor);
  }
  for (size_t factor = 7; factor * factor <= size; factor += 2) {
    for (; size % factor == 0; size /= factor) factors.push_back(factor);
  }
  if (size > 1) factors.push_back(size);
  return factors;
}

struct Radix2 {
  static constexpr size_t kSize = 2;
  static void transform(ComplexPair* x) {
    const ComplexPair sum = x[0] + x[1];
    x[1] = x[0] - x[1];
    x[0] = sum;
  }
};

struct Radix3 {
  static constexpr size_t kSize = 3;
  static void transform(ComplexPair* x) {
    const ComplexPair sum = x[1] + x[2];
    const ComplexPair difference = turned(std::numbers::sqrt3 / 2 * (x[1] - x[2]));
    const ComplexPair middle = x[0] - 0.5 * sum;
    x[0] = x[0] + sum;
    x[1] = middle - difference;
    x[2] = middle + difference;
  }
};

struct Radix4 {
  static constexpr size_t kSize = 4;
  static void transform(ComplexPair* x) {
    const ComplexPair even_sum = x[0] + x[2], even_difference = x[0] - x[2];
    const ComplexPair odd_sum = x[1] + x[3], odd_difference = turned(x[1] - x[3]);
    x[0] = even_sum + odd_sum;
    x[1] = even_difference - odd_difference;
    x[2] = even_sum - odd_sum;
    x[3] = even_difference + odd_difference;
  }
};

struct Radix5 {
  static constexpr size_t kSize = 5;
  static void transform(ComplexPair* x) {
    // Cosines and sines of 72 and 144 degrees.
    constexpr double kCos1 = 0.30901699437494742410, kCos2 = -0.80901699437494742410;
    constexpr double kSin1 = 0.95105651629515357212, kSin2 = 0.58778525229247312917;
    const ComplexPair sum1 = x[1] + x[4], sum2 = x[2] + x[3];
    const ComplexPair difference1 = x[1] - x[4], difference2 = x[2] - x[3];
    const ComplexPair even1 = x[0] + kCos1 * sum1 + kCos2 * sum2;
    const ComplexPair even2 = x[0] + kCos2 * sum1 + kCos1 * sum2;
    const ComplexPair odd1 = turned(kSin1 * difference1 + kSin2 * difference2);
    const ComplexPair odd2 = turned(kSin2 * difference1 - kSin1 * difference2);
    x[0] = x[0] + sum1 + sum2;
    x[1] = even1 - odd1;
    x[2] = even2 - odd2;
    x[3] = even2 + odd2;
    x[4] = even1 + odd1;
  }
};

// Stockham's order: each pass reads values that are `count` groups apart and writes their transform
// to neighbouring groups, so that the last pass leaves the result in order.
template <typename Radix>
void run_radix(size_t count, size_t stride, const std::complex<double>* roots,
               const ComplexPair* from, ComplexPair* to) {
  constexpr size_t kRadix = Radix::kSize;
  for (size_t group = 0; group < count; ++group) {
    for (size_t q = 0; q < stride; ++q) {
      ComplexPair x[kRadix];
      for (size_t j = 0; j < kRadix; ++j) x[j] = from[q + stride * (group + count * j)];
      Radix::transform(x);
      ComplexPair* out = to + q + stride * kRadix * group;
      out[0] = x[0];
      for (size_t k = 1; k < kRadix; ++k) out[stride * k] = roots[group * k * stride] * x[k];
    }
  }
}

}  // namespace

Fft::Fft(size_t size) : size_(size), roots_(roots_of_unity(size, size)) {
  size_t rest = size, stride = 1;
  const auto factors = factors_of(size);
  passes_.reserve(factors.size());
  for (size_t factor : factors) {
    rest /= factor;
    passes_.push_back({factor, rest, stride});
    stride *= factor;
  }
}

void Fft::run_any(const Pass& pass, const ComplexPair* from, ComplexPair* to) const {
  const size_t radix = pass.radix, step = size_ / radix;
  for (size_t group = 0; group < pass.count; ++group) {
    for (size_t k = 0; k < radix; ++k) {
      const std::complex<double> twiddle = roots_[group * k * pass.stride];
      for (size_t q = 0; q < pass.stride; ++q) {
        const ComplexPair* x = from + q + pass.stride * group;
        ComplexPair sum = x[0];
        for (size_t j = 1; j < radix; ++j) {
          sum = sum + roots_[(j * k) % radix * step] * x[pass.stride * pass.count * j];
        }
        to[q + pass.stride * (radix * group + k)] = twiddle * sum;
      }
    }
  }
}

void Fft::run(const Pass& pass, const ComplexPair* from, ComplexPair* to) const {
  switch (pass.radix) {
    case 2:
      return run_radix<Radix2>(pass.count, pass.stride, roots_.data(), from, to);
    case 3:
      return run_radix<Radix3>(pass.count, pass.stride, roots_.data(), from, to);
    case 4:
      return run_radix<Radix4>(pass.count, pass.stride, roots_.data(), from, to);
    case 5:
      return run_radix<Radix5>(pass.count, pass.stride, roots_.data(), from, to);
    default:
      return run_any(pass, from, to);
  }
}

void Fft::transform(ComplexPair* values, ComplexPair* scratch) const {
  ComplexPair *from = values, *to = scratch;
  for (const Pass& pass : passes_) {
    run(pass, from, to);
    std::swap(from, to);
  }
  if (from != values) std::copy(from, from + size_, values);
}

PowerSpectrum::PowerSpectrum(size_t size)
    : size_(size),
      fft_(size % 2 == 0 ? size / 2 : size),
      roots_(roots_of_unity(size, size / 2 + 1)) {}

void PowerSpectrum::compute(const Pair* values, Pair* powers, ComplexPair* scratch) const {
  const size_t size = fft_.size();
  if (size == size_) {
    for (size_t n = 0; n < size; ++n) scratch[n] = {values[n], Pair{}};
    fft_.transform(scratch, scratch + size);
    for (size_t k = 0; k < num_bins(); ++k) {
      powers[k] = scratch[k].re * scratch[k].re + scratch[k].im * scratch[k].im;
    }
    return;
  }
  // Even and odd values are the real and imaginary parts of a transform Z of half the size. Then
  // the even ones' transform is E = (Z[k] + conj Z[-k]) / 2, the odd ones' O = (Z[k] - conj Z[-k])
  // / 2i, and X[k] = E + e^(-2 pi i k / size) O.
  for (size_t n = 0; n < size; ++n) scratch[n] = {values[2 * n], values[2 * n + 1]};
  fft_.transform(scratch, scratch + size);
  for (size_t k = 0; k < num_bins(); ++k) {
    const ComplexPair z = scratch[k == size ? 0 : k];
    const ComplexPair mirrored = scratch[k == 0 ? 0 : size - k];
    const ComplexPair conjugate = {mirrored.re, -mirrored.im};
    const ComplexPair twice = z + conjugate - turned(roots_[k] * (z - conjugate));
    powers[k] = 0.25 * (twice.re * twice.re + twice.im * twice.im);
  }
}

}  // namespace pippin::sound
