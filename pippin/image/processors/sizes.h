// The sizes that image processors give to pictures, with the roundings of transformers.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/image/processors/processor_config.h"

namespace pippin::image {

// Python's round(): halves to even.
int64_t rounded_to_even(double value);
double ratio_of(Size size);  // width / height

// The size of a rule: fixed, by the shortest edge, within longest_edge, or within a rectangle.
// Throws InvalidArgument if the rule has none of these.
Size target_size(Size size, const SizeRule& rule);

// Returns the multiples of `factor` that are next to the sides, with an area between `least` and
// `most` (Qwen2-VL). `frames` counts in the area, of which `whole_frames` are compared with the
// limits (0: all). Throws InvalidArgument above a ratio of 200.
Size smart_size(Size size, int64_t factor, int64_t least, int64_t most, int64_t frames = 1,
                int64_t whole_frames = 0);

// A grid of tiles.
struct Grid {
  int64_t columns = 0, rows = 0;
  int64_t count() const { return columns * rows; }
};

// Returns the grids of `least` to `most` tiles, by their number of tiles.
std::vector<Grid> grids_between(int64_t least, int64_t most);
// Returns the grid whose ratio is closest to the picture's. Of equal ones, the one with more tiles
// as long as the picture covers half of them (InternVL).
Grid closest_grid(Size size, Size tile, const std::vector<Grid>& grids);

// Returns the largest size with the picture's ratio in `space`; the free side is rounded up
// (LLaVA-NeXT), or down.
Size size_within(Size size, Size space, bool round_up);
// Returns the resolution that keeps the most pixels and wastes the fewest (LLaVA-NeXT).
Size best_resolution(Size size, const std::vector<Size>& resolutions);

}  // namespace pippin::image
