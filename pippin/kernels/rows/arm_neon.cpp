#include "pippin/kernels/vec/neon.h"
// The vectors come first: what follows is written in terms of them.
#include "pippin/kernels/vec/math.h"
// And the mathematics before its users.
#include "pippin/kernels/rows/vectors.h"

namespace pippin::kernels {

const RowsKernels rows_neon = table("rows_neon");

}  // namespace pippin::kernels
