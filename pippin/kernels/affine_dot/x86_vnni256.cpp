#include "pippin/kernels/affine_dot/avx2vnni_bytes.h"

namespace pippin::kernels {

const AffineDotKernels affine_dot_vnni256 = {"affine_dot_vnni256", dot_fixed, expand, 8, fix};

}  // namespace pippin::kernels
