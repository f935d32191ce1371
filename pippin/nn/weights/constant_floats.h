// The elements of a recorded constant, computed.
#pragma once

#include <vector>

#include "pippin/array/array.h"

namespace pippin::nn {

// The elements of an array that depends on no input: a weight in any stored form, expanded by the
// value rules. Throws Unsupported for another array.
std::vector<float> constant_floats(const array::Array& x);

}  // namespace pippin::nn
