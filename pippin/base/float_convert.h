// Float conversions of whole arrays, at the speed of memory: what streams a checkpoint into a
// package.
//
// Little-endian elements that need not be aligned. The results are those of base/float16.h, bit for
// bit (but for the payload of NaNs).
#pragma once

#include <cstddef>

namespace pippin {

// True where a finite value became infinite.
bool convert_f32_to_f16(const std::byte* from, std::byte* to, size_t count);
bool convert_bf16_to_f16(const std::byte* from, std::byte* to, size_t count);
void convert_f16_to_f32(const std::byte* from, std::byte* to, size_t count);
void convert_bf16_to_f32(const std::byte* from, std::byte* to, size_t count);

}  // namespace pippin
