// Elements moved, converted, written or picked by position.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pippin::engine {

// views: y, x of one shape, any strides; converts between storages.
struct CopyNode {};

// Writes the scalars to the elements of y, which has no gaps.
struct DimsNode {};

// views: y without gaps, the value.
struct FillNode {};

// start + i * step; views: y [count], start, step.
struct RangeNode {};

// views: y [matrices, rows, columns], x like it, both without gaps.
struct BandNode {
  int64_t lower = 0, upper = 0;  // negative: all
};

// views: y [batch, sequence, slice], x like it, both without gaps; lengths int32 [batch].
struct ReverseSequenceNode {
  std::string where;  // for messages
};

// Element i of the result along an axis: an element of x, or a mix of two, of which the second has
// the weight `part`. views: y [outer, count, inner], x [outer, size, inner], both without gaps,
// elements of 4 bytes.
struct PickNode {
  std::string name;
  std::vector<int64_t> first, second;
  std::vector<float> part;  // empty: only the first
};

// views: y [indices, size], indices int32 [indices].
struct OneHotNode {
  double on = 1, off = 0;
};

}  // namespace pippin::engine
