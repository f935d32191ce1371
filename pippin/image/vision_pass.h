// The work of a vision tower on one image: passes of a program over parts of the pixel values, and
// the rows of their results that the prompt takes.
//
// A program is recorded for one VisionShape, so that all that depends on sizes alone (positions,
// angles, windows, orders of patches) is constant in it. Models make these (models/vision), the
// runtime runs them (runtime/vision).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pippin::image {

// All that a recorded program depends on besides the model.
struct VisionShape {
  // The dims of its input `pixel_values`.
  std::vector<int64_t> pixels;
  // Further numbers, which the architecture defines: the grid of patches, the image's size.
  std::vector<int64_t> sizes;
  friend bool operator==(const VisionShape&, const VisionShape&) = default;
  friend bool operator<(const VisionShape& a, const VisionShape& b) {
    return a.pixels != b.pixels ? a.pixels < b.pixels : a.sizes < b.sizes;
  }
};

// An input of integers of a program, and the entry of ImageInputs::sizes that it takes.
struct VisionIntegers {
  std::string input, size;
};

// One run of a program.
struct VisionPass {
  VisionShape shape;
  // The index of its first number among the image's pixel values: they are contiguous.
  int64_t first = 0;
  // Which of ImageInputs::further they are; empty: pixel_values.
  std::string further = {};
  // Of programs that take images of several sizes.
  std::vector<VisionIntegers> integers = {};
};

// Rows that stand next to each other in the prompt.
struct VisionRun {
  // Their indices among the rows of all passes, one after another. With weights, each `parts` of
  // them are one row: their sum, each times its weight.
  std::vector<int64_t> rows;
  int64_t parts = 1;
  std::vector<float> weights;  // as many as rows, or none
  // As EmbeddedRows has it: frames, height, width; zeros for positions of text.
  std::array<int64_t, 3> grid{};
  int64_t frame_step = 1;
};

struct VisionPasses {
  std::vector<VisionPass> passes;
  std::vector<VisionRun> runs;  // in the order of the prompt
};

// The shape of a pass over one tile. A shape without further sizes has the tiles of a pass in its
// first dimension; others are not changed.
VisionShape one_tile(const VisionShape& shape);

// The same work by one program: passes over several tiles become one for each. Nullopt if that of a
// pass is not `shape`.
std::optional<VisionPasses> passes_of_shape(VisionPasses passes, const VisionShape& shape);

// "(1, 3, 512, 512)", "(784, 1536) of 1x28x28": for messages.
std::string to_string(const VisionShape& shape);

}  // namespace pippin::image
