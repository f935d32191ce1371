#include "pippin/engine/cpu/sample_step.h"

#include <algorithm>
#include <limits>

namespace pippin::engine {
namespace {

constexpr int64_t kPixels = 64;  // pixels of a row whose mixes are kept for all channels

// The mixes of a block, in what channels are computed with.
struct Block {
  int64_t count = 0;
  int32_t pixels[4][kPixels];
  float weights[4][kPixels];
  float constants[kPixels];

  void take(const mil::PixelMix* mixes, int64_t pixels_in_block) {
    count = pixels_in_block;
    for (int64_t i = 0; i < count; ++i) {
      for (size_t k = 0; k < 4; ++k) {
        pixels[k][i] = static_cast<int32_t>(mixes[i].pixels[k]);
        const double weight = mixes[i].weights[k];
        weights[k][i] = static_cast<float>(weight);
        // However small, it takes something of infinity.
        if (weight != 0 && weights[k][i] == 0)
          weights[k][i] = std::numeric_limits<float>::denorm_min();
      }
      constants[i] = static_cast<float>(mixes[i].constant);
    }
  }
  void compute(const float* x, float* y) const {
    for (int64_t i = 0; i < count; ++i) {
      float sum = constants[i];
      for (size_t k = 0; k < 4; ++k) {
        // A weight of 0 takes nothing, not even of infinity.
        const float part = weights[k][i] * x[pixels[k][i]];
        sum += weights[k][i] == 0 ? 0 : part;
      }
      y[i] = sum;
    }
  }
};

}  // namespace

bool SampleStep::check(const StepContext&) const noexcept {
  return true;
}
int64_t SampleStep::source(const StepContext&, int64_t image) const noexcept {
  return image;
}

void SampleStep::run(const StepContext& context) const noexcept {
  const Operand& y = context.operands[0];
  const Operand& x = context.operands[1];
  if (y.size() == 0 || !check(context)) return;
  const int64_t channels = y.shape[1], rows = y.shape[2], columns = y.shape[3];
  const int64_t from_plane = x.shape[2] * x.shape[3], to_plane = rows * columns;
  const auto share = [&](Range range) {
    mil::PixelMix mixes[kPixels];
    Block block;
    for (int64_t i = range.begin; i < range.end; ++i) {
      const int64_t image = i / rows, row = i % rows;
      const float* from = x.floats() + source(context, image) * channels * from_plane;
      for (int64_t column = 0; column < columns; column += kPixels) {
        const int64_t count = std::min(kPixels, columns - column);
        mix(context, image, row, column, count, mixes);
        block.take(mixes, count);
        float* to = y.floats() + image * channels * to_plane + row * columns + column;
        for (int64_t c = 0; c < channels; ++c) {
          block.compute(from + c * from_plane, to + c * to_plane);
        }
      }
    }
  };
  constexpr int64_t kWorthSharing = int64_t{1} << 13;
  if (y.size() < kWorthSharing) {
    share(Range{0, y.shape[0] * rows});
  } else {
    context.pool.run(
        [&](int part, int parts) { share(split_range(y.shape[0] * rows, part, parts)); });
  }
}

}  // namespace pippin::engine
