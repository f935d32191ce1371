// Images sampled at any points: resample, affine and crop_resize.
#include <algorithm>
#include <limits>

#include "pippin/base/error.h"
#include "pippin/engine/cpu/steps.h"

namespace pippin::engine {
namespace {

using mil::PixelMix;

constexpr int64_t kPixels = 64;  // pixels of a row whose mixes are kept for all channels

// The mixes of a block, as arrays for the loop over channels.
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
        // Any positive weight of an infinite pixel counts, however small.
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
        // A weight of 0 contributes nothing, not even of infinity.
        const float part = weights[k][i] * x[pixels[k][i]];
        sum += weights[k][i] == 0 ? 0 : part;
      }
      y[i] = sum;
    }
  }
};

class SampleStep : public Step {
 public:
  void run(const StepContext& context) const noexcept override;

 protected:
  // Returns false if the images cannot be sampled; the message has become the run's error.
  virtual bool check(const StepContext& context) const noexcept;
  // The index of the image of x that an image of y samples.
  virtual int64_t source(const StepContext& context, int64_t image) const noexcept;
  // The mixes of `count` pixels of a row of an image of y, from `column` on.
  virtual void mix(const StepContext& context, int64_t image, int64_t row, int64_t column,
                   int64_t count, mil::PixelMix* mixes) const noexcept = 0;
};

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
  share_out(context, y.shape[0] * rows, y.size() >= kWorthSharing, share);
}

class ResampleStep final : public SampleStep {
 public:
  explicit ResampleStep(const mil::Sampler& sampler) : sampler_(sampler) {}

 private:
  void mix(const StepContext& context, int64_t image, int64_t row, int64_t column, int64_t count,
           PixelMix* mixes) const noexcept override {
    const Operand& x = context.operands[1];
    const Operand& points = context.operands[2];
    const float* point =
        points.floats() + ((image * points.shape[1] + row) * points.shape[2] + column) * 2;
    for (int64_t i = 0; i < count; ++i, point += 2) {
      mixes[i] = sampler_.mix(x.shape[2], x.shape[3], double{point[1]}, double{point[0]});
    }
  }

  mil::Sampler sampler_;
};

class AffineStep final : public SampleStep {
 public:
  explicit AffineStep(const mil::Sampler& sampler) : sampler_(sampler) {}

 private:
  void mix(const StepContext& context, int64_t image, int64_t row, int64_t column, int64_t count,
           PixelMix* mixes) const noexcept override {
    const Operand& y = context.operands[0];
    const Operand& x = context.operands[1];
    const Operand& matrices = context.operands[2];
    double m[6];
    std::copy_n(matrices.floats() + (matrices.shape[0] == 1 ? 0 : image * 6), 6, m);
    const bool align = sampler_.align_corners;
    const double v = mil::affine_point(align, row, y.shape[2]);
    for (int64_t i = 0; i < count; ++i) {
      const double u = mil::affine_point(align, column + i, y.shape[3]);
      mixes[i] = sampler_.mix(x.shape[2], x.shape[3], m[3] * u + m[4] * v + m[5],
                              m[0] * u + m[1] * v + m[2]);
    }
  }

  mil::Sampler sampler_;
};

class CropStep final : public SampleStep {
 public:
  explicit CropStep(const CropNode& node) : node_(node) {}

 private:
  using Images = CropNode::Images;

  int64_t box_of(const StepContext& context, int64_t image) const noexcept {
    return node_.images == Images::All ? image / context.operands[1].shape[0] : image;
  }
  const float* numbers(const StepContext& context, int64_t box) const noexcept {
    const Operand& boxes = context.operands[2];
    return boxes.floats() + box * boxes.shape[1];
  }
  double wanted(const StepContext& context, int64_t image) const noexcept {
    switch (node_.images) {
      case Images::InBoxes:
        return double{numbers(context, image)[0]};
      case Images::Apart:
        return context.operands[3].ints()[image];
      case Images::InOrder:
        return static_cast<double>(image);
      case Images::All:
        return static_cast<double>(image % context.operands[1].shape[0]);
    }
    return 0;
  }
  bool check(const StepContext& context) const noexcept override {
    const int64_t images = context.operands[1].shape[0];
    for (int64_t i = 0; i < context.operands[0].shape[0]; ++i) {
      const double index = wanted(context, i);
      if (index >= 0 && index < static_cast<double>(images)) continue;
      leave_errors(context, [&] {
        fail(ErrorCode::InvalidFile, "{}: a box for image {} of {}", node_.where, index, images);
      });
      return false;
    }
    return true;
  }
  int64_t source(const StepContext& context, int64_t image) const noexcept override {
    return static_cast<int64_t>(wanted(context, image));
  }
  void mix(const StepContext& context, int64_t image, int64_t row, int64_t column, int64_t count,
           PixelMix* mixes) const noexcept override {
    const Operand& x = context.operands[1];
    const float* given = numbers(context, box_of(context, image));
    double box[4];
    std::copy_n(given + (node_.images == Images::InBoxes ? 1 : 0), 4, box);
    const double y_place = node_.crop.row(box, x.shape[2], row);
    for (int64_t i = 0; i < count; ++i) {
      mixes[i] = node_.crop.mix(x.shape[2], x.shape[3], y_place,
                                node_.crop.column(box, x.shape[3], column + i));
    }
  }

  const CropNode& node_;
};

}  // namespace

StepPointer make_step_of(const AffineNode& node, const StepSource&) {
  return std::make_unique<AffineStep>(node.sampler);
}
StepPointer make_step_of(const CropNode& node, const StepSource&) {
  return std::make_unique<CropStep>(node);
}
StepPointer make_step_of(const ResampleNode& node, const StepSource&) {
  return std::make_unique<ResampleStep>(node.sampler);
}

}  // namespace pippin::engine
