// The grids of ggml's IQ1, IQ2 and IQ3 types: points of 8 or 4 dimensions, each stored as the
// levels of its coordinates, the first one in the lowest bits.
//   8 dimensions, 2 bits each: IQ2_XXS, IQ2_XS, IQ2_S: levels 8, 25, 43; IQ1_S, IQ1_M: -1, 0, 1
//   4 dimensions, 3 bits each: IQ3_XXS: levels 4, 12, ... 52, 62; IQ3_S: 1, 3, ... 15
#pragma once

#include <cstdint>

#include "pippin/kernels/ggml_blocks/args.h"

namespace pippin::kernels {

extern const uint16_t iq2_xxs_grid[256];
extern const uint16_t iq2_xs_grid[512];
extern const uint16_t iq2_s_grid[1024];
extern const uint16_t iq1_grid[2048];
extern const uint16_t iq3_xxs_grid[256];
extern const uint16_t iq3_s_grid[512];

// Unpacks a block of one of these types, of ternary weights or of NVFP4.
void unpack_grid_block(GgmlType type, const uint8_t* block, uint8_t* codes, float* scales);

}  // namespace pippin::kernels
