#include "pippin/kernels/vec/avx512.h"
// Must come first: the headers below use these vectors.
#include "pippin/kernels/vec/multiply.h"
// Must precede its users.
#include "pippin/kernels/low_rank/vectors.h"

namespace pippin::kernels {

const LowRankKernels low_rank_avx512 = table("low_rank_avx512");

}  // namespace pippin::kernels
