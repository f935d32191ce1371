// Learned positions of a grid, interpolated to a grid of another size, as PyTorch's interpolate()
// does it. Computed in double when the program is recorded.
#pragma once

#include <cstdint>
#include <vector>

namespace pippin::nn {

struct Grid {
  int64_t height = 0, width = 0;
  int64_t count() const { return height * width; }
  friend bool operator==(const Grid&, const Grid&) = default;
};

struct GridResizing {
  enum class Kind {
    Bilinear,
    Bicubic,  // a = -0.75
  };
  Kind kind = Kind::Bilinear;
  // The corners of both grids coincide; otherwise their edges.
  bool align_corners = false;
  // Smaller grids take the mean of all they cover; with edges only.
  bool antialias = false;
};

// The numbers of an axis that one of the resized axis is made of.
struct ResizeTaps {
  std::vector<int64_t> places;
  std::vector<double> weights;
};
// For each of `to` numbers.
std::vector<ResizeTaps> resize_axis(int64_t from, int64_t to, const GridResizing& resizing);

// A row of `features` numbers for each place of the grid `to`, row by row, of such rows for `from`.
std::vector<double> resize_grid(const std::vector<double>& rows, int64_t features, Grid from,
                                Grid to, const GridResizing& resizing);

}  // namespace pippin::nn
