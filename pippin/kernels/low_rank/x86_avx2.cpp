#include "pippin/kernels/vec/avx2.h"
// Must come first: the headers below use these vectors.
#include "pippin/kernels/vec/multiply.h"
// Must precede its users.
#include "pippin/kernels/low_rank/vectors.h"

namespace pippin::kernels {

const LowRankKernels low_rank_avx2 = table("low_rank_avx2");

}  // namespace pippin::kernels
