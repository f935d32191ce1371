#include "pippin/compress/palette_entries.h"

#include <algorithm>
#include <cmath>

#include "pippin/base/numbers/float16.h"
#include "pippin/compress/linear.h"

namespace pippin::compress {
namespace {

float stored(double value, mil::DataType type) {
  const auto single = static_cast<float>(value);
  return type == mil::DataType::Float16 ? to_float(to_float16(single)) : single;
}

// A scale is never 0, so that its inverse is finite.
float stored_scale(double value, mil::DataType type) {
  const double smallest = type == mil::DataType::Float16 ? 0x1p-24 : 0x1p-120;
  return stored(std::max(value, smallest), type);
}

}  // namespace

IntegerEntries integer_entries(std::span<const float> entries, std::span<const float> weights,
                               mil::DataType type) {
  const LinearFormat format{mil::DataType::Int8, true, type};
  const LinearScale scale = choose_scale(entries, weights, format);
  std::vector<uint8_t> codes(entries.size());
  encode_linear(entries, scale, format, codes.data());
  IntegerEntries result;
  result.scale = scale.scale;
  for (const uint8_t code : codes) result.integers.push_back(static_cast<int8_t>(code));
  return result;
}

float entry_value(float entry, float scale, mil::DataType type) {
  return stored(double{entry} * double{scale}, type);
}

ScaledPalette scaled_palette(const std::vector<std::vector<float>>& channels, size_t entries,
                             bool integers, mil::DataType type) {
  ScaledPalette result;
  std::vector<std::pair<float, float>> values;
  for (const auto& channel : channels) {
    float largest = 0;
    for (const float value : channel) largest = std::max(largest, std::abs(value));
    const float scale = stored_scale(double{largest}, type);
    result.scales.push_back(scale);
    // An error in a channel is weighted with the square of its scale.
    const double weight = double{scale} * double{scale};
    for (const float value : channel) {
      values.emplace_back(value / scale, static_cast<float>(std::max(weight, 1e-30)));
    }
  }
  const Distribution distribution = weighted_distribution(std::move(values));
  const auto means = optimal_palette(distribution, entries);
  result.entries = stored_palette(means, entries, type);
  if (integers) {
    const IntegerEntries rounded = integer_entries(result.entries, {}, type);
    // A negative scale reverses the order.
    const float sign = rounded.scale < 0 ? -1.0f : 1.0f;
    for (size_t i = 0; i < entries; ++i) {
      const float integer = sign * static_cast<float>(rounded.integers[i]);
      result.entries[i] = std::clamp(integer, -128.0f, 127.0f);
    }
    for (float& scale : result.scales) {
      scale = stored_scale(double{scale} * std::abs(double{rounded.scale}), type);
    }
  }
  // Fits each channel to its entries by least squares, twice.
  const NearestEntry nearest(result.entries);
  for (int turn = 0; turn < 2; ++turn) {
    for (size_t c = 0; c < channels.size(); ++c) {
      double products = 0, squares = 0;
      for (const float value : channels[c]) {
        const double entry = double{result.entries[nearest(value / result.scales[c])]};
        products += double{value} * entry;
        squares += entry * entry;
      }
      if (products > 0 && squares > 0) result.scales[c] = stored_scale(products / squares, type);
    }
  }
  return result;
}

}  // namespace pippin::compress
