// Images sampled at any points: what resample, affine and crop_resize share.
#pragma once

#include "pippin/engine/run/step.h"
#include "pippin/mil/ops/sampling.h"

namespace pippin::engine {

// views: y [images, channels, rows, columns], x [images of x, channels, height, width], both fp32
// without gaps, x with pixels; then what says where the points lie.
class SampleStep : public Step {
 public:
  explicit SampleStep(std::string name) : name_(std::move(name)) {}
  std::string name() const override { return name_; }
  void run(const StepContext& context) const noexcept override;

 protected:
  // False where they cannot be sampled: what is wrong has become the run's error.
  virtual bool check(const StepContext& context) const noexcept;
  // Which image of x an image of y shows.
  virtual int64_t source(const StepContext& context, int64_t image) const noexcept;
  // What `count` pixels of a row of an image of y are made of, from `column` on.
  virtual void mix(const StepContext& context, int64_t image, int64_t row, int64_t column,
                   int64_t count, mil::PixelMix* mixes) const noexcept = 0;

 private:
  std::string name_;
};

}  // namespace pippin::engine
