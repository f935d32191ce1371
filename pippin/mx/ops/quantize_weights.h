// Quantizes weights to codes, scales and biases.
#pragma once

#include <vector>

#include "pippin/mx/core/array.h"

namespace pippin::mx {

// Uses MLX's rule: the end of a group's range that is farther from 0 is exact, and the scale is
// adjusted so that 0 is exact too. w is at most float32.
std::vector<array> quantize_weights(const array& w, int group_size, int bits);

}  // namespace pippin::mx
