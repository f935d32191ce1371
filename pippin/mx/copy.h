// Whole arrays, copied between any strides and types.
#pragma once

#include "pippin/mx/node.h"

namespace pippin::mx {

// A strided array in memory, to be read or written.
struct Strided {
  std::byte* data;
  Dtype dtype;
  const Strides* strides;
};
void copy(const Shape& shape, const Strided& from, const Strided& to);

// An available node, row-major, into memory of its size.
void copy_to(const Node& from, std::byte* to, Dtype to_type);

// The node itself where it is row-major, else a row-major copy of it.
Ref<Node> row_major(const Ref<Node>& node);
// The same with that type.
Ref<Node> row_major_as(const Ref<Node>& node, Dtype dtype);

}  // namespace pippin::mx
