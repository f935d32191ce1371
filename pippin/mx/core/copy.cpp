#include "pippin/mx/core/copy.h"

#include "pippin/kernels/elementwise/elementwise.h"
#include "pippin/mx/core/convert.h"
#include "pippin/mx/core/nest.h"

namespace pippin::mx {
namespace {

// Transposes use the project's kernel, which works in tiles.
bool copy_tiled(const Shape& shape, const Strided& from, const Strided& to) {
  if (shape.size() > kernels::kMaxCopyRank || shape.empty()) return false;
  if ((*from.strides)[shape.size() - 1] == 1) return false;
  kernels::CopyArgs args{};
  args.x = from.data;
  args.y = to.data;
  args.element_size = static_cast<int>(size_of(to.dtype));
  args.rank = static_cast<int>(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return true;
    args.shape[i] = shape[i];
    args.x_strides[i] = (*from.strides)[i];
    args.y_strides[i] = (*to.strides)[i];
  }
  kernels::strided_copy(args);
  return true;
}

}  // namespace

void copy(const Shape& shape, const Strided& from, const Strided& to) {
  const Nest<2> nest(shape, {from.strides, to.strides});
  const auto from_size = static_cast<int64_t>(size_of(from.dtype));
  const auto to_size = static_cast<int64_t>(size_of(to.dtype));
  if (from.dtype == to.dtype && nest.runs() > 1 && copy_tiled(shape, from, to)) return;
  const auto steps = nest.steps();
  nest.all(1, [&](const Nest<2>::Offsets& at, int64_t count) {
    convert(from.data + at[0] * from_size, from.dtype, steps[0], to.data + at[1] * to_size,
            to.dtype, steps[1], count);
  });
}

void copy_to(const Node& from, std::byte* to, Dtype to_type) {
  const Strides strides = row_major_strides(from.shape);
  copy(from.shape, {from.data, from.dtype, &from.strides}, {to, to_type, &strides});
}

Ref<Node> row_major(const Ref<Node>& node) {
  return row_major_as(node, node->dtype);
}

Ref<Node> row_major_as(const Ref<Node>& node, Dtype dtype) {
  if (node->row_major && node->dtype == dtype) return node;
  Ref<Node> result(new Node(dtype, node->shape));
  result->allocate();
  copy_to(*node, result->data, dtype);
  result->is_available.store(true, std::memory_order_release);
  return result;
}

}  // namespace pippin::mx
