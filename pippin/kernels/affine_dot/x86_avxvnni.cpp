#include "pippin/kernels/affine_dot/avx2vnni_bytes.h"

namespace pippin::kernels {

const AffineDotKernels affine_dot_avxvnni = {"affine_dot_avxvnni", dot_fixed, expand, 8, fix};

}  // namespace pippin::kernels
