#include "pippin/kernels/vec/neon.h"
// The vectors come first: what follows is written in terms of them.
#include "pippin/kernels/vec/multiply.h"
// And the codes before their products.
#include "pippin/kernels/e4m7/neon_codes.h"
#include "pippin/kernels/e4m7/vectors.h"

namespace pippin::kernels {

const E4M7Kernels e4m7_neon = e4m7_table("e4m7_neon");

}  // namespace pippin::kernels
