#include "pippin/kernels/vec/neon.h"
// Must come first: the headers below use these vectors.
#include "pippin/kernels/vec/multiply.h"
// Must precede its users.
#include "pippin/kernels/e4m7/neon_codes.h"
#include "pippin/kernels/e4m7/vectors.h"

namespace pippin::kernels {

const E4M7Kernels e4m7_neon = e4m7_table("e4m7_neon");

}  // namespace pippin::kernels
