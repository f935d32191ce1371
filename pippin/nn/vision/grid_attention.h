// Attention among the patches of a grid, or within its square windows, where scores depend on the
// distances of rows and of columns too (Li et al. 2022, ViTDet; Kirillov et al. 2023, SAM).
//
// The score of query i for key j has the terms q_i · r_h and q_i · r_w, with a vector for each
// distance. They become further elements of queries, and the keys have a 1 at the element of their
// row and of their column, so that no matrix of scores is made outside the attention itself.
#pragma once

#include <cstdint>
#include <string>

#include "pippin/array/array.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct GridAttentionOptions {
  int64_t features = 0;
  int64_t num_heads = 0;
  int64_t height = 0, width = 0;  // of the grid, row by row
  // Patches on a side of a window; 0: all see all. A grid whose sides are not multiples is filled
  // up with patches of zeros, which are seen.
  int64_t window = 0;
  bool bias = true;  // of `qkv`
  // The distances' tables "rel_pos_h" and "rel_pos_w" (2 * rows - 1, head_dim) are those of a grid
  // of so many rows and columns; 0: none. For other grids they are interpolated.
  int64_t table_height = 0, table_width = 0;
  std::string qkv = "qkv", output = "proj";

  int64_t head_dim() const { return features / num_heads; }
};

class GridAttention {
 public:
  GridAttention(const Parameters& parameters, const GridAttentionOptions& options);

  // x and the result are (batch, height * width, features).
  array::Array operator()(const array::Array& x) const;

 private:
  array::Array attend(const array::Array& x, int64_t height, int64_t width) const;
  // The terms of distances for queries (batch * heads, height, width, head_dim): (batch * heads,
  // height * width, height + width).
  array::Array distance_terms(const array::Array& queries, int64_t height, int64_t width) const;
  // Vectors for each pair of places of an axis, (1, places, places, head_dim).
  array::Array vectors(const char* name, int64_t places, int64_t table) const;
  array::Array in_windows(const array::Array& x) const;
  array::Array out_of_windows(const array::Array& x, const mil::Dim& batch) const;

  GridAttentionOptions options_;
  Parameters parameters_;
  Linear qkv_, output_;
};

}  // namespace pippin::nn
