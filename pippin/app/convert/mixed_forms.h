// The forms of a weight among which `pippin compress --mixed` chooses.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/compress/recipe.h"

namespace pippin::app {

// The divisor of `size` whose ratio to `wanted` is nearest to 1, the larger one of two.
int64_t nearest_divisor(int64_t size, int64_t wanted);

// Schemes for a matrix of so many output channels and inputs, whose values have `value_bits` bits:
// palettes of 2, 3, 4, 6 and 8 bits for all channels or about 16, up to 4 bits also for about 4 or
// one; int4 with scales per channel and per block of about 128 or 32 inputs; int8 per channel. All
// divide the sizes. A form is left out if another one of its kind that can only be better takes
// nearly as few bytes. Ordered by size, smallest first.
std::vector<compress::Scheme> mixed_forms(int64_t channels, int64_t inputs, int value_bits);

}  // namespace pippin::app
