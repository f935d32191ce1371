#include "pippin/kernels/vec/avx512.h"
// Must come first: the headers below use these vectors.
#include "pippin/kernels/vec/math.h"
// Must precede its users.
#include "pippin/kernels/rows/vectors.h"

namespace pippin::kernels {

const RowsKernels rows_avx512 = table("rows_avx512");

}  // namespace pippin::kernels
