#include "pippin/kernels/vec/avx2.h"
// Must come first: the headers below use these vectors.
#include "pippin/kernels/vec/math.h"
// Must precede its users.
#include "pippin/kernels/recurrence/vectors.h"

namespace pippin::kernels {

const RecurrenceKernels recurrence_avx2 = table("recurrence_avx2");

}  // namespace pippin::kernels
