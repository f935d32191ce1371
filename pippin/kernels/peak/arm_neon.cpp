#include "pippin/kernels/vec/neon.h"
// The vectors come first: what follows is written in terms of them.
#define PIPPIN_VEC_REGISTER(value) "+w"(value)
#include "pippin/kernels/peak/vectors.h"

namespace pippin::kernels {

const FloatPeakKernel peak_f32_neon = {"neon", kFloatOperations, float_dot};

}  // namespace pippin::kernels
