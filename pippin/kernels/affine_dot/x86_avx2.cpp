#include "pippin/kernels/affine_dot/avx2_words.h"

namespace pippin::kernels {

const AffineDotKernels affine_dot_avx2 = {"affine_dot_avx2", dot_with<FloatDot>, expand, 8,
                                          nullptr};

}  // namespace pippin::kernels
