#include "pippin/compress/linear.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "pippin/base/cpu_features.h"
#include "pippin/base/float16.h"
#include "pippin/compress/x86_avx2_linear.h"

namespace pippin::compress {
namespace {

// Adding and subtracting it rounds a float of magnitude below 2^22 to the nearest integer.
constexpr float kRound = 12582912.0f;  // 1.5 * 2^23

// Four floats: what every CPU has; the compiler turns it into the machine's vectors.
using Floats = float __attribute__((vector_size(16)));
constexpr size_t kLanes = 4;
// Sums of floats go to doubles after so many elements.
constexpr size_t kFlush = 1024;

Floats load(const float* from) {
  Floats result;
  std::memcpy(&result, from, sizeof(result));
  return result;
}

double sum(Floats v) {
  return double{v[0]} + double{v[1]} + double{v[2]} + double{v[3]};
}

// p = q - offset for a trial scale, in the range that the offset leaves.
struct Trial {
  float scale = 1;
  int offset = 0;
};

struct Moments {
  double xp = 0, pp = 0, p = 0, error = 0;
};

struct Block {
  std::span<const float> values, weights;
  float least = 0, most = 0;  // the range of the values, 0 included
  double total = 0, sum = 0;  // of the weights, of the weighted values
};

template <bool kWeighted>
Moments measure_block(const Block& block, float scale, float low, float high) {
  const float* x = block.values.data();
  const float* w = block.weights.data();
  const size_t count = block.values.size();
  const float inverse = 1 / scale;
  Moments result;
  const auto add_scalar = [&](size_t i) {
    const float clamped = std::min(std::max(x[i] * inverse, low), high);
    const float p = (clamped + kRound) - kRound;
    const float difference = x[i] - p * scale;
    const float weight = kWeighted ? w[i] : 1.0f;
    result.xp += double{x[i] * p * weight};
    result.pp += double{p * p * weight};
    result.p += double{p * weight};
    result.error += double{difference * difference * weight};
  };
  size_t i = 0;
#if defined(__x86_64__)
  if (cpu_features().avx2) {
    LinearSums sums = {};
    i = count / 8 * 8;
    avx2_measure_linear(x, kWeighted ? w : nullptr, i, scale, low, high, &sums);
    result = {sums.xp, sums.pp, sums.p, sums.error};
  }
#endif
  while (i + 2 * kLanes <= count) {
    const size_t end = std::min(count, i + kFlush);
    Floats xp[2] = {}, pp[2] = {}, ps[2] = {}, error[2] = {};
    for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
      for (size_t k = 0; k < 2; ++k) {
        const Floats value = load(x + i + k * kLanes);
        Floats p = value * inverse;
        const Floats lows = low - Floats{}, highs = high - Floats{};
        p = p < lows ? lows : p;
        p = p > highs ? highs : p;
        p = (p + kRound) - kRound;
        const Floats difference = value - p * scale;
        if constexpr (kWeighted) {
          const Floats weight = load(w + i + k * kLanes);
          const Floats weighted = p * weight;
          xp[k] += value * weighted;
          pp[k] += p * weighted;
          ps[k] += weighted;
          error[k] += difference * difference * weight;
        } else {
          xp[k] += value * p;
          pp[k] += p * p;
          ps[k] += p;
          error[k] += difference * difference;
        }
      }
    }
    result.xp += sum(xp[0] + xp[1]);
    result.pp += sum(pp[0] + pp[1]);
    result.p += sum(ps[0] + ps[1]);
    result.error += sum(error[0] + error[1]);
  }
  for (; i < count; ++i) add_scalar(i);
  return result;
}

Moments measure(const Block& block, const Trial& trial, const LinearFormat& format) {
  const auto low = static_cast<float>(format.lowest() - trial.offset);
  const auto high = static_cast<float>(format.highest() - trial.offset);
  return block.weights.empty() ? measure_block<false>(block, trial.scale, low, high)
                               : measure_block<true>(block, trial.scale, low, high);
}

// The nearest scale that the file can store; never 0, so that its inverse is finite.
float stored_scale(double scale, const LinearFormat& format) {
  auto result = static_cast<float>(scale);
  float smallest = 0x1p-120f;
  float largest = std::numeric_limits<float>::max();
  if (format.scale == mil::DataType::Float16) {
    smallest = 0x1p-24f;
    largest = 65504.0f;
    result = to_float(to_float16(result));
  }
  return std::copysign(std::clamp(std::abs(result), smallest, largest), result);
}

// The sum is left out where the format is symmetric, which has no use for it.
Block describe(std::span<const float> values, std::span<const float> weights, bool symmetric) {
  Block block{values, weights};
  // In lanes, which the compiler turns into vectors.
  constexpr size_t kWidth = 8;
  float least[kWidth] = {}, most[kWidth] = {};
  size_t next = 0;
  for (; next + kWidth <= values.size(); next += kWidth) {
    for (size_t k = 0; k < kWidth; ++k) {
      const float x = values[next + k];
      least[k] = x < least[k] ? x : least[k];
      most[k] = x > most[k] ? x : most[k];
    }
  }
  for (; next < values.size(); ++next) {
    least[0] = std::min(least[0], values[next]);
    most[0] = std::max(most[0], values[next]);
  }
  block.least = *std::min_element(least, least + kWidth);
  block.most = *std::max_element(most, most + kWidth);
  if (weights.empty()) {
    block.total = static_cast<double>(values.size());
    if (symmetric) return block;
    for (const float x : values) block.sum += double{x};
  } else {
    for (size_t i = 0; i < values.size(); ++i) {
      block.total += double{weights[i]};
      block.sum += double{weights[i]} * double{values[i]};
    }
  }
  return block;
}

class Search {
 public:
  // `scale` stays where every error overflows.
  Search(const Block& block, const LinearFormat& format, double scale)
      : block_(block), format_(format), best_(make(scale, format.middle())) {}

  // One start and its improvement.
  void start(double scale, double offset) {
    Trial trial = make(scale, offset);
    const Moments moments = consider(trial);
    const Trial next = improved(trial, moments);
    if (next.scale != trial.scale || next.offset != trial.offset) consider(next);
  }

  // Improves the best one until that ends.
  Trial finish() {
    for (int turn = 0; turn < 3; ++turn) {
      const double before = error_;
      const Trial next = improved(best_, moments_);
      if (next.scale == best_.scale && next.offset == best_.offset) break;
      consider(next);
      if (error_ >= before) break;
    }
    return best_;
  }

 private:
  Trial make(double scale, double offset) const {
    Trial trial;
    trial.scale = stored_scale(scale, format_);
    const double bounded = std::clamp(offset, double(format_.lowest()), double(format_.highest()));
    trial.offset = static_cast<int>(bounded < 0 ? bounded - 0.5 : bounded + 0.5);
    return trial;
  }

  Moments consider(const Trial& trial) {
    const Moments moments = measure(block_, trial, format_);
    if (moments.error < error_) {
      error_ = moments.error;
      best_ = trial;
      moments_ = moments;
    }
    return moments;
  }

  // The least squares of the values on the integers that `trial` gives them: through 0 where the
  // offset is fixed, else a line whose place at 0 is the next offset.
  Trial improved(const Trial& trial, const Moments& moments) const {
    if (moments.pp <= 0) return trial;
    double scale = moments.xp / moments.pp;
    double offset = trial.offset;
    if (!format_.symmetric) {
      const double spread = moments.pp - moments.p * moments.p / block_.total;
      if (spread > 1e-6 * moments.pp) {
        const double slope = (moments.xp - moments.p * block_.sum / block_.total) / spread;
        const double shift = (block_.sum - slope * moments.p) / block_.total;
        const double moved = std::nearbyint(offset - shift / slope);
        if (std::isfinite(moved) && moved != offset) {
          scale = slope;
          offset = moved;
        }
      }
    }
    return make(scale, offset);
  }

  const Block& block_;
  const LinearFormat& format_;
  double error_ = std::numeric_limits<double>::infinity();
  Trial best_;
  Moments moments_;
};

}  // namespace

int LinearFormat::lowest() const {
  switch (data) {
    case mil::DataType::Int4:
      return -8;
    case mil::DataType::Int8:
      return -128;
    default:
      return 0;
  }
}
int LinearFormat::highest() const {
  switch (data) {
    case mil::DataType::Int4:
      return 7;
    case mil::DataType::UInt4:
      return 15;
    case mil::DataType::Int8:
      return 127;
    default:
      return 255;
  }
}
int LinearFormat::middle() const {
  return lowest() < 0 ? 0 : (highest() + 1) / 2;
}

std::span<const float> shares_of_range(const LinearFormat& format, size_t size) {
  static constexpr std::array<float, 6> kShares = {1.0f, 0.85f, 0.7f, 0.56f, 0.45f, 0.36f};
  const bool few_levels = format.highest() - format.lowest() < 16;
  size_t count = few_levels ? 2 : 1;
  if (size > 64) count = few_levels ? 4 : 2;
  if (size > 4096) count = kShares.size();
  return std::span(kShares).first(count);
}

LinearScale choose_scale(std::span<const float> values, std::span<const float> weights,
                         const LinearFormat& format) {
  const Block block = describe(values, weights, format.symmetric);
  if (block.least == 0 && block.most == 0) return {1.0f, format.middle()};
  const int lowest = format.lowest(), highest = format.highest(), middle = format.middle();
  const double extreme = -block.least > block.most ? block.least : block.most;
  Search search(block, format, std::abs(extreme) / (highest - middle));
  for (const double share : shares_of_range(format, values.size())) {
    search.start(share * std::abs(extreme) / (highest - middle), middle);
    search.start(share * extreme / (lowest - middle), middle);
    if (!format.symmetric) {
      const double scale = share * (double{block.most} - block.least) / (highest - lowest);
      search.start(scale, lowest - share * block.least / scale);
    }
  }
  const Trial best = search.finish();
  return {best.scale, best.offset};
}

double encode_linear(std::span<const float> values, const LinearScale& scale,
                     const LinearFormat& format, uint8_t* codes) {
  const auto low = static_cast<float>(format.lowest() - scale.offset);
  const auto high = static_cast<float>(format.highest() - scale.offset);
  const float factor = scale.scale, inverse = 1 / scale.scale;
  const int offset = scale.offset;
  size_t i = 0;
#if defined(__x86_64__)
  if (cpu_features().avx2) {
    i = values.size() / 8 * 8;
    avx2_encode_linear(values.data(), i, factor, low, high, offset, codes);
  }
#endif
  for (; i < values.size(); ++i) {
    float p = values[i] * inverse;
    p = p < low ? low : p;
    p = p > high ? high : p;
    codes[i] = static_cast<uint8_t>(static_cast<int>((p + kRound) - kRound) + offset);
  }
  const Block block{values, {}};
  return measure_block<false>(block, factor, low, high).error;
}

}  // namespace pippin::compress
