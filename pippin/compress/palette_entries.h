// What a palette's entries become in a file: floats as the type stores them, or 8-bit integers with
// a scale; and palettes whose entries every channel scales by itself.
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
  float scale = 1;  // as `type` stores it
};
// `weights` (empty: all 1) say how much each entry counts.
IntegerEntries integer_entries(std::span<const float> entries, std::span<const float> weights,
                               mil::DataType type);
// integer * scale, as `type` stores it: what the entry stands for.
float entry_value(float entry, float scale, mil::DataType type);

struct ScaledPalette {
  std::vector<float> entries;  // ascending; integers where they were asked for
  std::vector<float> scales;   // per channel, as `type` stores them
};

// The palette of channels that are divided by their largest magnitude first, and scales that fit it
// best: coremltools' enable_per_channel_scale. `channels` have the same number of values each.
ScaledPalette scaled_palette(const std::vector<std::vector<float>>& channels, size_t entries,
                             bool integers, mil::DataType type);

}  // namespace pippin::compress
