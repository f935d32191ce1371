// Copies whole arrays between any strides and types.
#pragma once

#include "pippin/mx/core/node.h"

namespace pippin::mx {

// A strided array in memory, for reading or writing.
struct Strided {
  std::byte* data;
  Dtype dtype;
  const Strides* strides;
};
void copy(const Shape& shape, const Strided& from, const Strided& to);

// Copies an available node, row-major, into memory of its size.
void copy_to(const Node& from, std::byte* to, Dtype to_type);

// The node itself if it is row-major, otherwise a row-major copy.
Ref<Node> row_major(const Ref<Node>& node);
// The same, converted to `dtype`.
Ref<Node> row_major_as(const Ref<Node>& node, Dtype dtype);

}  // namespace pippin::mx
