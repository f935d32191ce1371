#include "pippin/sound/resampler.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <numeric>
#include <utility>

#include "pippin/base/error.h"

namespace pippin::sound {

namespace {

constexpr size_t kPiece = 4096;
constexpr int64_t kMaxTable = 5 << 18;
// As many as 11025 Hz to 16000 Hz has. More positions between two samples are interpolated, with an
// error of 2e-6.
constexpr int64_t kMaxPhases = 640;

// Kaiser's formulas for the attenuation and the transition from 0.9 to 1 of the highest frequency.
constexpr double kAttenuation = 110, kPassBand = 0.9;
constexpr double kBeta = 0.1102 * (kAttenuation - 8.7);
constexpr double kHalfTaps = (kAttenuation - 8) / (2.285 * std::numbers::pi * (1 - kPassBand)) / 2;

// The modified Bessel function of order 0, by its power series.
double bessel_0(double x) {
  double sum = 1, term = 1;
  for (int k = 1; term > 1e-17 * sum; ++k) {
    term *= x * x / (4.0 * k * k);
    sum += term;
  }
  return sum;
}

double kaiser_sinc(double position, double cutoff, double half) {
  const double edge = position / half;
  if (std::abs(edge) >= 1) return 0;
  const double angle = std::numbers::pi * cutoff * position;
  const double sinc = angle == 0 ? 1 : std::sin(angle) / angle;
  return sinc * bessel_0(kBeta * std::sqrt(1 - edge * edge));
}

using Floats = float __attribute__((vector_size(16)));

Floats load(const float* values) {
  Floats vector;
  std::memcpy(&vector, values, sizeof(vector));
  return vector;
}

// `count` is a multiple of 8. Always the same order of additions.
float dot(const float* a, const float* b, size_t count) {
  Floats first = {}, second = {};
  for (size_t i = 0; i < count; i += 8) {
    first += load(a + i) * load(b + i);
    second += load(a + i + 4) * load(b + i + 4);
  }
  const Floats sums = first + second;
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace

Resampler::Resampler(int64_t from, int64_t to, Input input)
    : from_(from / std::gcd(from, to)), to_(to / std::gcd(from, to)), input_(std::move(input)) {
  // Relative to the input's highest frequency.
  const double limit = std::min(1.0, static_cast<double>(to) / static_cast<double>(from));
  half_ = (static_cast<int64_t>(std::ceil(kHalfTaps / limit)) + 3) / 4 * 4;
  phases_ = std::min(to_, kMaxPhases);
  if (half_ > kMaxTable / (2 * (phases_ + 1))) {
    fail(ErrorCode::Unsupported, "cannot convert the sampling rate {} Hz to {} Hz", from, to);
  }
  make_table(limit * (1 + kPassBand) / 2);
  // Zeros before the first sample.
  buffer_begin_ = 1 - half_;
  buffer_.resize(static_cast<size_t>(half_ - 1));
}

// Row r is for outputs that are r / phases_ of a sample after the sample that tap half_ - 1 weighs.
void Resampler::make_table(double cutoff) {
  const auto taps = static_cast<size_t>(2 * half_);
  table_.resize(static_cast<size_t>(phases_ + 1) * taps);
  std::vector<double> row(taps);
  for (int64_t phase = 0; phase <= phases_; ++phase) {
    const double fraction = static_cast<double>(phase) / static_cast<double>(phases_);
    for (size_t tap = 0; tap < taps; ++tap) {
      const double position = static_cast<double>(tap) - static_cast<double>(half_ - 1) - fraction;
      row[tap] = kaiser_sinc(position, cutoff, static_cast<double>(half_));
    }
    // A constant stays as it is.
    const double sum = std::accumulate(row.begin(), row.end(), 0.0);
    float* out = table_.data() + static_cast<size_t>(phase) * taps;
    for (size_t tap = 0; tap < taps; ++tap) out[tap] = static_cast<float>(row[tap] / sum);
  }
}

void Resampler::fill(int64_t position) {
  while (!ended_ && position >= buffer_begin_ + static_cast<int64_t>(buffer_.size())) {
    const size_t size = buffer_.size();
    buffer_.resize(size + kPiece);
    const size_t count = input_(std::span(buffer_).subspan(size));
    num_read_ += static_cast<int64_t>(count);
    ended_ = count == 0;
    // Zeros after the last sample.
    buffer_.resize(size + (ended_ ? static_cast<size_t>(half_) : count));
  }
}

float Resampler::sample_at(int64_t position, int64_t remainder) const {
  const auto taps = static_cast<size_t>(2 * half_);
  const float* samples = buffer_.data() + (position - half_ + 1 - buffer_begin_);
  const int64_t place = remainder * phases_;
  const float* row = table_.data() + static_cast<size_t>(place / to_) * taps;
  const float value = dot(row, samples, taps);
  if (place % to_ == 0) return value;
  const float weight = static_cast<float>(place % to_) / static_cast<float>(to_);
  return value + weight * (dot(row + taps, samples, taps) - value);
}

size_t Resampler::read(std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t position = num_written_ * from_ / to_;
    if (position + half_ >= buffer_begin_ + static_cast<int64_t>(buffer_.size())) {
      const int64_t used = position - half_ + 1 - buffer_begin_;
      buffer_.erase(buffer_.begin(), buffer_.begin() + used);
      buffer_begin_ += used;
      fill(position + half_);
    }
    if (ended_ && num_written_ >= (num_read_ * to_ + from_ / 2) / from_) return i;
    out[i] = sample_at(position, num_written_ * from_ % to_);
    ++num_written_;
  }
  return out.size();
}

}  // namespace pippin::sound
