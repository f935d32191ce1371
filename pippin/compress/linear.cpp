#include "pippin/compress/linear.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "pippin/base/numbers/float16.h"
#include "pippin/compress/kernels_here.h"

namespace pippin::compress {
namespace {

using kernels::LinearRounding;
using kernels::LinearSums;

// p = q - offset for a trial scale, in the range allowed by the offset.
struct Trial {
  float scale = 1;
  int offset = 0;
};

struct Block {
  std::span<const float> values, weights;
  float least = 0, most = 0;  // the range of the values, including 0
  double total = 0, sum = 0;  // of the weights, of the weighted values
};

LinearRounding rounding(float scale, int offset, const LinearFormat& format) {
  return {scale, static_cast<float>(format.lowest() - offset),
          static_cast<float>(format.highest() - offset)};
}

LinearSums measure(const Block& block, const Trial& trial, const LinearFormat& format) {
  LinearSums sums;
  kernels_here().measure(
      block.values.data(), block.weights.empty() ? nullptr : block.weights.data(),
      std::ssize(block.values), rounding(trial.scale, trial.offset, format), &sums);
  return sums;
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

// Omits the sum for symmetric formats, which do not use it.
Block describe(std::span<const float> values, std::span<const float> weights, bool symmetric) {
  Block block{values, weights};
  // In lanes, so that the compiler vectorizes.
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
  // `scale` is kept if every error overflows.
  Search(const Block& block, const LinearFormat& format, double scale)
      : block_(block), format_(format), best_(make(scale, format.middle())) {}

  // Tries one starting point and improves it.
  void start(double scale, double offset) {
    Trial trial = make(scale, offset);
    const LinearSums moments = consider(trial);
    const Trial next = improved(trial, moments);
    if (next.scale != trial.scale || next.offset != trial.offset) consider(next);
  }

  // Improves the best one until there is no progress.
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

  LinearSums consider(const Trial& trial) {
    const LinearSums moments = measure(block_, trial, format_);
    if (moments.error < error_) {
      error_ = moments.error;
      best_ = trial;
      moments_ = moments;
    }
    return moments;
  }

  // The least-squares fit of the values to the integers of `trial`: through 0 if the offset is
  // fixed, otherwise a line whose value at 0 gives the next offset.
  Trial improved(const Trial& trial, const LinearSums& moments) const {
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
  LinearSums moments_ = {};
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
  kernels_here().encode(values.data(), std::ssize(values),
                        rounding(scale.scale, scale.offset, format), scale.offset, codes);
  return measure({values, {}}, {scale.scale, scale.offset}, format).error;
}

}  // namespace pippin::compress
