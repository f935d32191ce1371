#include "pippin/nn/vision/grid_rows.h"

#include "pippin/array/ops.h"

namespace pippin::nn {

using array::Array;

Array join_patches(const Array& x, Grid grid, int64_t factor) {
  if (factor == 1) return x;
  const int64_t features = x.dim(2).constant();
  const int64_t rows = grid.height / factor, columns = grid.width / factor;
  const mil::Dim tall = x.dim(0) * mil::Dim(rows);
  const Array blocks = array::reshape(x, {tall, factor, columns, factor * features});
  return array::reshape(array::transpose(blocks, {0, 2, 1, 3}),
                        {x.dim(0), rows * columns, factor * factor * features});
}

Array pool_patches(const Array& x, Grid grid, int64_t factor) {
  const int64_t features = x.dim(2).constant();
  const int64_t rows = grid.height / factor, columns = grid.width / factor;
  const mil::Dim tall = x.dim(0) * mil::Dim(rows);
  const Array blocks = array::reshape(x, {tall, factor, columns, factor, features});
  return array::reshape(array::reduce_mean(blocks, {1, 3}), {x.dim(0), rows * columns, features});
}

Array planes_of_rows(const Array& x, Grid grid) {
  return array::reshape(array::transpose(x, {0, 2, 1}),
                        {x.dim(0), x.dim(2), grid.height, grid.width});
}

Array rows_of_planes(const Array& x) {
  const Array flat = array::reshape(x, {x.dim(0), x.dim(1), x.dim(2) * x.dim(3)});
  return array::transpose(flat, {0, 2, 1});
}

}  // namespace pippin::nn
