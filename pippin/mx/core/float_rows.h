// Rows of a node's last axis as float32, a few at a time: used by norms and softmaxes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "pippin/base/unwritten.h"
#include "pippin/mx/core/convert.h"
#include "pippin/mx/core/copy.h"
#include "pippin/mx/core/eval.h"
#include "pippin/mx/core/node.h"

namespace pippin::mx {

// A node's numbers as a float32 vector.
inline std::vector<float> float_vector(const Node& node) {
  std::vector<float> result(static_cast<size_t>(node.size));
  copy_to(node, reinterpret_cast<std::byte*>(result.data()), float32);
  return result;
}

// Calls body(x, y, rows) with `rows` contiguous rows of `length` floats each; y may be x. `out` has
// x's shape except for the last axis, which is `out_length`; its storage is allocated here.
template <typename Body>
void each_float_rows(Node& out, int64_t out_length, const Body& body) {
  const Ref<Node> x = row_major(out.inputs[0]);
  const int64_t length = x->shape.back();
  const bool is_direct = x->dtype == float32 && out.dtype == float32;
  if (is_direct && out_length == length && x == out.inputs[0]) {
    out.allocate_or_take(0);
  } else {
    out.allocate();
  }
  if (out.size == 0) return;
  const int64_t rows = x->size / std::max<int64_t>(1, length);
  const int64_t most = std::clamp<int64_t>(8192 / std::max<int64_t>(1, length), 1, rows);
  const auto from_item = static_cast<int64_t>(size_of(x->dtype));
  const auto to_item = static_cast<int64_t>(size_of(out.dtype));
  parallel(rows, rows * length * 4, [&](int64_t begin, int64_t end) {
    if (is_direct) {
      return body(reinterpret_cast<const float*>(x->data) + begin * length,
                  reinterpret_cast<float*>(out.data) + begin * out_length, end - begin);
    }
    const auto from = make_unwritten<float>(static_cast<size_t>(most * length));
    const auto to = make_unwritten<float>(static_cast<size_t>(most * out_length));
    for (int64_t i = begin; i < end; i += most) {
      const int64_t n = std::min(most, end - i);
      convert(x->data + i * length * from_item, x->dtype, 1,
              reinterpret_cast<std::byte*>(from.get()), float32, 1, n * length);
      body(static_cast<const float*>(from.get()), to.get(), n);
      convert(reinterpret_cast<const std::byte*>(to.get()), float32, 1,
              out.data + i * out_length * to_item, out.dtype, 1, n * out_length);
    }
  });
}

}  // namespace pippin::mx
