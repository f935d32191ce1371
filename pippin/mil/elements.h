// Single elements of packed tensors: their bits and their numeric values.
//
// A packed tensor is a little-endian bit stream: element i of a b-bit type lies in bits
// [i*b, (i+1)*b), so 3- and 6-bit elements may straddle two bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "pippin/base/bytes.h"
#include "pippin/mil/data_type.h"

namespace pippin::mil {

// `bytes` must hold element `index`; `type` is any type but String.
uint64_t element_bits(DataType type, ByteSpan bytes, size_t index);
void set_element_bits(DataType type, MutableByteSpan bytes, size_t index, uint64_t bits);

// Exact, except for 64-bit integers beyond 2^53.
double bits_to_double(DataType type, uint64_t bits);
// The integer (sign extended) or bool; uint64 wraps around into the negative numbers.
int64_t bits_to_int(DataType type, uint64_t bits);

// The nearest value of a float type (ties to even; overflow to infinity, or NaN where the type has
// no infinity).
uint64_t float_to_bits(DataType type, double value);
// Sets elements from `index` on; `bytes` must hold them.
void set_floats(DataType type, MutableByteSpan bytes, size_t index, std::span<const double> values);
// The smallest and largest integer of an integer type or bool; uint64's largest is INT64_MAX.
int64_t min_integer(DataType type);
int64_t max_integer(DataType type);

}  // namespace pippin::mil
