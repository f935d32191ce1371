#include "pippin/compress/levels.h"

#include <algorithm>
#include <cmath>

#include "pippin/compress/palette_entries.h"

namespace pippin::compress {

Levels::Levels(const Encoded& encoded, const Encoding& encoding, size_t index, mil::DataType type) {
  if (encoding.form == Encoding::Form::Linear) {
    const LinearFormat& format = encoding.linear;
    is_signed_ = format.lowest() < 0;
    const uint8_t stored = encoded.offsets[index];
    offset_ = is_signed_ ? static_cast<int8_t>(stored) : stored;
    scale_ = encoded.scales[index];
    low_ = static_cast<float>(format.lowest() - offset_);
    high_ = static_cast<float>(format.highest() - offset_);
    return;
  }
  const size_t entries = size_t{1} << encoding.bits;
  const float* lut = encoded.luts.data() + index * entries;
  entries_.assign(lut, lut + entries);
  if (encoding.int8_lut) {
    for (float& entry : entries_) entry = entry_value(entry, encoded.scales[index], type);
  }
  search_.emplace(entries_);
}

float Levels::value(uint8_t code) const {
  return search_ ? entries_[code] : static_cast<float>(steps(code)) * scale_;
}

std::pair<uint8_t, float> Levels::nearest(float x) const {
  if (search_) {
    const uint8_t code = (*search_)(x);
    return {code, entries_[code]};
  }
  const float p = std::nearbyint(std::clamp(x / scale_, low_, high_));
  return {static_cast<uint8_t>(static_cast<int>(p) + offset_), p * scale_};
}

int Levels::steps(uint8_t code) const {
  return (is_signed_ ? static_cast<int8_t>(code) : code) - offset_;
}

}  // namespace pippin::compress
