#include "pippin/mx/ops/append.h"

#include <algorithm>

namespace pippin::mx {
namespace {

// The number of positions along the axis that the buffer has from the first on: up to where the
// next index of an outer axis begins, or the buffer ends.
int64_t room(const Node& x, size_t axis) {
  const int64_t step = x.strides[axis];
  if (step <= 0 || x.data != x.buffer->data()) return 0;
  const auto item = static_cast<int64_t>(size_of(x.dtype));
  int64_t result = static_cast<int64_t>(x.buffer->bytes()) / item;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (i == axis || x.shape[i] == 1) continue;
    if (i < axis) {
      if (x.strides[i] < step) return 0;
      result = std::min(result, x.strides[i]);
    } else if (x.strides[i] <= 0 || x.strides[i] * x.shape[i] > step) {
      return 0;  // the elements of one position are not contiguous
    }
  }
  return result / step;
}

// Bytes of room after an array that starts to grow, for at most 256 positions.
constexpr int64_t kLittleRoom = int64_t{1} << 20;

}  // namespace

size_t begin_append(Node& out, size_t axis) {
  Node& first = *out.inputs[0];
  const int64_t before = first.shape[axis], after = out.shape[axis];
  const bool grows = first.dtype == out.dtype && before > 0 && 2 * before >= after;
  const bool was_joined =
      grows && first.buffer->is_joined(static_cast<size_t>(before), first.strides[axis]);
  if (was_joined && after <= room(first, axis) &&
      first.buffer->claim(static_cast<size_t>(before), static_cast<size_t>(after))) {
    out.view(first, first.strides);
    return 1;
  }
  if (!was_joined) {
    out.allocate();
  } else {  // a second time: room for half as much again, or at least some
    const int64_t place = std::max<int64_t>(1, out.bytes() / after);
    const int64_t little = std::clamp<int64_t>(kLittleRoom / place, 32, 256);
    Shape roomy = out.shape;
    roomy[axis] = after + std::max<int64_t>(after / 2, little);
    out.strides = row_major_strides(roomy);
    out.buffer = Buffer::allocate(static_cast<size_t>(num_elements(roomy)) * size_of(out.dtype));
    out.data = out.buffer->data();
    out.set_row_major();
  }
  out.buffer->set_joined(static_cast<size_t>(after), out.strides[axis]);
  return 0;
}

}  // namespace pippin::mx
