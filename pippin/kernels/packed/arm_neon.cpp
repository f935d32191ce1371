#include "pippin/kernels/packed/portable.h"

namespace pippin::kernels {

const PackedKernels packed_neon = {"packed_neon", expand, quantize, dot, 0};

}  // namespace pippin::kernels
