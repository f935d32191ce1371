#include "pippin/kernels/vec/avx512.h"
// Must come first: the headers below use these vectors.
#define PIPPIN_VEC_REGISTER(value) "+v"(value)
#include "pippin/kernels/peak/vectors.h"

namespace pippin::kernels {

const FloatPeakKernel peak_f32_avx512 = {"avx512", kFloatOperations, float_dot};

}  // namespace pippin::kernels
