#include "pippin/kernels/vec/avx512.h"
// The vectors come first: what follows is written in terms of them.
#define PIPPIN_VEC_REGISTER(value) "+v"(value)
#include "pippin/kernels/peak/vectors.h"

namespace pippin::kernels {

const FloatPeakKernel peak_f32_avx512 = {"avx512", kFloatOperations, float_dot};

}  // namespace pippin::kernels
