#include "pippin/kernels/vec/avx512.h"
// The vectors come first: what follows is written in terms of them.
#include "pippin/kernels/vec/math.h"
// And the mathematics before its users.
#include "pippin/kernels/recurrence/vectors.h"

namespace pippin::kernels {

const RecurrenceKernels recurrence_avx512 = table("recurrence_avx512");

}  // namespace pippin::kernels
