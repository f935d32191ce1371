// Ranges of numbers as their digits have them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace pippin::constrain {

// For each position, from the highest on, the digits that it may have.
using DigitBox = std::vector<std::pair<uint32_t, uint32_t>>;

// The numbers from `first` to `last`, both included, written in `positions` digits to the base
// `radix`: every one is in exactly one box. The highest digit may exceed the radix.
std::vector<DigitBox> digit_boxes(uint64_t first, uint64_t last, int positions, uint64_t radix);

}  // namespace pippin::constrain
