#include "pippin/kernels/packed/avx2vnni_products.h"
// The products come first: what follows is written in terms of them.
#include "pippin/kernels/packed/vector_tiles.h"
// And the tiles before what uses them.
#include "pippin/kernels/packed/vector_kernels.h"

namespace pippin::kernels {

const PackedKernels packed_avxvnni = packed_table("packed_avxvnni");

}  // namespace pippin::kernels
