// Converts arrays of floats at memory speed, for writing checkpoints into packages.
//
// Elements are little-endian and may be unaligned. The results are bit-identical to those of
// base/numbers/float16.h (except for NaN payloads).
#pragma once

#include <cstddef>

namespace pippin {

// Return true if a finite value became infinite.
bool convert_f32_to_f16(const std::byte* from, std::byte* to, size_t count);
bool convert_bf16_to_f16(const std::byte* from, std::byte* to, size_t count);
void convert_f16_to_f32(const std::byte* from, std::byte* to, size_t count);
void convert_bf16_to_f32(const std::byte* from, std::byte* to, size_t count);

}  // namespace pippin
