// Base class of weight sources: fp32 elements computed by index.
#pragma once

#include <span>

#include "pippin/mil/derived_source.h"

namespace pippin::mil::networks {

class FloatSource : public DerivedSource {
 public:
  explicit FloatSource(int64_t count) : count_(count) {}
  int64_t num_floats() const { return count_; }
  uint64_t size() const override { return static_cast<uint64_t>(count_) * sizeof(float); }
  void read(uint64_t offset, MutableByteSpan out) const final;

  // Computes elements first to first + out.size() - 1.
  virtual void elements(size_t first, std::span<float> out) const = 0;

 private:
  const int64_t count_;
};

}  // namespace pippin::mil::networks
