// Patches of images of any size in towers for them: their order, the angles of their positions, and
// windows of neighbouring patches.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/nn/vision/grid_resize.h"

namespace pippin::nn {

// The indices of a grid's places, counted row by row, in the order of blocks of `side` x `side`
// places, which follow each other row by row. Both sides of the grid must be multiples of `side`.
std::vector<int64_t> block_order(Grid grid, int64_t side);

// The frequencies, theta^(-2 i / dims), that row and column are multiplied with to give the dims /
// 2 angles of a patch: first those for the row, then those for the column.
enum class PatchRope {
  None,
  Halves,       // of half as many dims, for both
  Alternating,  // the even ones for the row, the odd ones for the column
};
// The angles of the patches at the places `order`, dims / 2 numbers for each. `dims` must be a
// multiple of 4.
std::vector<double> patch_angles(Grid grid, const std::vector<int64_t>& order, PatchRope rope,
                                 int64_t dims, double theta);

// Windows of up to `side` x `side` blocks; those at the right and lower edges are smaller.
struct PatchWindows {
  // As many windows of equally many patches.
  struct Group {
    int64_t windows = 0, patches = 0;
  };
  std::vector<Group> groups;
  // The places of patches in block_order(), window by window of each group.
  std::vector<int64_t> order;
};
PatchWindows cut_windows(Grid grid, int64_t block, int64_t side);

// The permutation that undoes `order`.
std::vector<int64_t> inverse_order(const std::vector<int64_t>& order);

}  // namespace pippin::nn
