// The values that the codes of one block stand for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "pippin/compress/encoder.h"
#include "pippin/compress/encoding.h"
#include "pippin/compress/palette.h"

namespace pippin::compress {

class Levels {
 public:
  // Those of block `index` of an encoded linear form or palette of single values.
  Levels(const Encoded& encoded, const Encoding& encoding, size_t index, mil::DataType type);

  float value(uint8_t code) const;
  // The code whose value is nearest, and that value.
  std::pair<uint8_t, float> nearest(float x) const;
  // The multiple of the scale that a linear code stands for.
  int steps(uint8_t code) const;

 private:
  float scale_ = 1, low_ = 0, high_ = 0;
  int offset_ = 0;
  bool is_signed_ = false;
  std::vector<float> entries_;  // palettes
  std::optional<NearestEntry> search_;
};

}  // namespace pippin::compress
