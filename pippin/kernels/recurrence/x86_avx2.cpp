#include "pippin/kernels/vec/avx2.h"
// The vectors come first: what follows is written in terms of them.
#include "pippin/kernels/vec/math.h"
// And the mathematics before its users.
#include "pippin/kernels/recurrence/vectors.h"

namespace pippin::kernels {

const RecurrenceKernels recurrence_avx2 = table("recurrence_avx2");

}  // namespace pippin::kernels
