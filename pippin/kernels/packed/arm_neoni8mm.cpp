#include "pippin/kernels/packed/neoni8mm_tiles.h"
// The tiles come first: what follows is written in terms of them.
#include "pippin/kernels/packed/vector_kernels.h"

namespace pippin::kernels {

const PackedKernels packed_neoni8mm = packed_table("packed_neoni8mm");

}  // namespace pippin::kernels
