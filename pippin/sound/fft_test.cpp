#include "pippin/sound/fft.h"

#include <cmath>
#include <numbers>
#include <random>

#include <gtest/gtest.h>

namespace pippin::sound {
namespace {

std::vector<double> random_values(size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(size);
  for (double& value : values) value = normal(random);
  return values;
}

std::complex<double> dft(const std::vector<std::complex<double>>& x, size_t k) {
  std::complex<double> sum = 0;
  for (size_t n = 0; n < x.size(); ++n) {
    const double turns = static_cast<double>(k * n % x.size()) / static_cast<double>(x.size());
    sum += x[n] * std::polar(1.0, -2 * std::numbers::pi * turns);
  }
  return sum;
}

std::vector<std::complex<double>> complex_of(const std::vector<double>& re,
                                             const std::vector<double>& im) {
  std::vector<std::complex<double>> result(re.size());
  for (size_t i = 0; i < re.size(); ++i) result[i] = {re[i], im[i]};
  return result;
}

// Sizes of one factor, of all factors with formulas, of primes, and those of speech models.
class FftSizes : public testing::TestWithParam<size_t> {};

TEST_P(FftSizes, EqualsTheSum) {
  const size_t size = GetParam();
  const auto a = complex_of(random_values(size, 1), random_values(size, 2));
  const auto b = complex_of(random_values(size, 3), random_values(size, 4));
  std::vector<ComplexPair> values(size), scratch(size);
  for (size_t i = 0; i < size; ++i) {
    values[i] = {Pair{a[i].real(), b[i].real()}, Pair{a[i].imag(), b[i].imag()}};
  }
  Fft(size).transform(values.data(), scratch.data());
  const double tolerance = 1e-12 * static_cast<double>(size);
  for (size_t k = 0; k < size; ++k) {
    EXPECT_LT(std::abs(std::complex(values[k].re[0], values[k].im[0]) - dft(a, k)), tolerance);
    EXPECT_LT(std::abs(std::complex(values[k].re[1], values[k].im[1]) - dft(b, k)), tolerance);
  }
}

TEST_P(FftSizes, PowersEqualTheSum) {
  const size_t size = GetParam();
  const auto a = random_values(size, 5), b = random_values(size, 6), none = std::vector(size, 0.0);
  const PowerSpectrum spectrum(size);
  ASSERT_EQ(spectrum.num_bins(), size / 2 + 1);
  std::vector<Pair> values(size), powers(spectrum.num_bins());
  std::vector<ComplexPair> scratch(spectrum.scratch_size());
  for (size_t i = 0; i < size; ++i) values[i] = Pair{a[i], b[i]};
  spectrum.compute(values.data(), powers.data(), scratch.data());
  const double tolerance = 1e-12 * static_cast<double>(size * size);
  for (size_t k = 0; k < powers.size(); ++k) {
    EXPECT_NEAR(powers[k][0], std::norm(dft(complex_of(a, none), k)), tolerance) << k;
    EXPECT_NEAR(powers[k][1], std::norm(dft(complex_of(b, none), k)), tolerance) << k;
  }
}

INSTANTIATE_TEST_SUITE_P(Fft, FftSizes,
                         testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 15, 16, 25, 30, 31, 49,
                                         60, 61, 77, 97, 121, 126, 200, 210, 243, 256, 400, 401,
                                         480, 512, 625, 640, 1000, 1024));

}  // namespace
}  // namespace pippin::sound
