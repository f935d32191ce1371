#include "pippin/kernels/vec/avx512.h"
// Must come first: the headers below use these vectors.
#include "pippin/kernels/vec/multiply.h"
// Must precede its users.
#include "pippin/kernels/e4m7/avx512_codes.h"
#include "pippin/kernels/e4m7/vectors.h"

namespace pippin::kernels {

const E4M7Kernels e4m7_avx512 = e4m7_table("e4m7_avx512");

}  // namespace pippin::kernels
