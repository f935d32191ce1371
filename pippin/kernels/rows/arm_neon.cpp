#include "pippin/kernels/vec/neon.h"
// Must come first: the headers below use these vectors.
#include "pippin/kernels/vec/math.h"
// Must precede its users.
#include "pippin/kernels/rows/vectors.h"

namespace pippin::kernels {

const RowsKernels rows_neon = table("rows_neon");

}  // namespace pippin::kernels
