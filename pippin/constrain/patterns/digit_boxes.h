// Number ranges as ranges of digits.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace pippin::constrain {

// The range of digits at each position, starting with the highest.
using DigitBox = std::vector<std::pair<uint32_t, uint32_t>>;

// Splits the numbers from `first` to `last`, inclusive, written with `positions` digits in base
// `radix`, into boxes: every number is in exactly one. The highest digit may exceed the radix.
std::vector<DigitBox> digit_boxes(uint64_t first, uint64_t last, int positions, uint64_t radix);

}  // namespace pippin::constrain
