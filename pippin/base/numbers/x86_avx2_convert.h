// The part of base/numbers/float_convert.h that needs F16C: whole vectors of 8. Plain types only,
// because the file is compiled with its own instruction-set flags.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pippin {

// `count` must be a multiple of 8. Return true if a finite value became infinite.
bool avx2_f32_to_f16(const unsigned char* from, unsigned char* to, size_t count) noexcept;
bool avx2_bf16_to_f16(const unsigned char* from, unsigned char* to, size_t count) noexcept;
void avx2_f16_to_f32(const unsigned char* from, unsigned char* to, size_t count) noexcept;

}  // namespace pippin
