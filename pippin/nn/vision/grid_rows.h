// Rows of features that form a grid: the patches of an image, row by row.
#pragma once

#include <cstdint>

#include "pippin/array/array.h"
#include "pippin/nn/vision/grid_resize.h"

namespace pippin::nn {

// Joins the features of `factor` x `factor` neighbouring patches of a grid, row by row (pixel
// shuffle): from (batch, patches, features) to (batch, patches / factor², factor² * features). Both
// sides of the grid must be multiples of the factor.
array::Array join_patches(const array::Array& x, Grid grid, int64_t factor);

// The mean of `factor` x `factor` neighbouring patches: to (batch, patches / factor², features).
array::Array pool_patches(const array::Array& x, Grid grid, int64_t factor);

// Rows of a grid (batch, height * width, features) as planes (batch, features, height, width), and
// back.
array::Array planes_of_rows(const array::Array& x, Grid grid);
array::Array rows_of_planes(const array::Array& x);

}  // namespace pippin::nn
