#include "pippin/kernels/vec/neon.h"
// The vectors come first: what follows is written in terms of them.
#include "pippin/kernels/vec/math.h"
// And the mathematics before its users.
#include "pippin/kernels/recurrence/vectors.h"

namespace pippin::kernels {

const RecurrenceKernels recurrence_neon = table("recurrence_neon");

}  // namespace pippin::kernels
