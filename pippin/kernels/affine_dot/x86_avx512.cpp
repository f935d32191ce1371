#include "pippin/kernels/affine_dot/avx512_words.h"

namespace pippin::kernels {

const AffineDotKernels affine_dot_avx512 = {"affine_dot_avx512", dot_with<FloatDot>, expand, 16,
                                            nullptr};

}  // namespace pippin::kernels
