#include "pippin/kernels/vec/neon.h"
// Must come first: the headers below use these vectors.
#define PIPPIN_VEC_REGISTER(value) "+w"(value)
#include "pippin/kernels/peak/vectors.h"

namespace pippin::kernels {

const FloatPeakKernel peak_f32_neon = {"neon", kFloatOperations, float_dot};

}  // namespace pippin::kernels
