// The stored form of a palette's entries: rounded floats, or 8-bit integers with a scale; and
// palettes whose entries each channel scales.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pippin/compress/palette.h"
#include "pippin/mil/data_type.h"

namespace pippin::compress {

// Entries as integers: value = integers[i] * scale.
struct IntegerEntries {
  std::vector<int8_t> integers;
  float scale = 1;  // rounded to `type`
};
// `weights` (empty: all 1) are the importance of each entry.
IntegerEntries integer_entries(std::span<const float> entries, std::span<const float> weights,
                               mil::DataType type);
// integer * scale, rounded to `type`: the value of the entry.
float entry_value(float entry, float scale, mil::DataType type);

struct ScaledPalette {
  std::vector<float> entries;  // ascending; integers if requested
  std::vector<float> scales;   // per channel, rounded to `type`
};

// The palette of channels that are first divided by their largest magnitude, and the scales that
// fit it best: coremltools' enable_per_channel_scale. All `channels` have the same number of
// values.
ScaledPalette scaled_palette(const std::vector<std::vector<float>>& channels, size_t entries,
                             bool integers, mil::DataType type);

}  // namespace pippin::compress
