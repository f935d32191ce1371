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

// Allocates `out` and calls body(Node& y), which writes its elements as `dtype` to y, row-major: to
// the memory of `out` itself if it has that type.
template <typename Body>
void compute_as(Node& out, Dtype dtype, const Body& body) {
  out.allocate();
  if (out.dtype == dtype) return body(out);
  Node y(dtype, out.shape);
  y.allocate();
  body(y);
  copy_to(y, out.data, out.dtype);
}

}  // namespace pippin::mx
