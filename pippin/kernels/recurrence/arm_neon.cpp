#include "pippin/kernels/vec/neon.h"
// Must come first: the headers below use these vectors.
#include "pippin/kernels/vec/math.h"
// Must precede its users.
#include "pippin/kernels/recurrence/vectors.h"

namespace pippin::kernels {

const RecurrenceKernels recurrence_neon = table("recurrence_neon");

}  // namespace pippin::kernels
