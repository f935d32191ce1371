#include "pippin/kernels/packed/portable.h"

namespace pippin::kernels {

const PackedKernels packed_avx2 = {"packed_avx2", expand, quantize, dot, 0};

}  // namespace pippin::kernels
