#include "pippin/mx/ops/update.h"

#include <algorithm>

#include "pippin/mx/core/copy.h"
#include "pippin/mx/core/nest.h"
#include "pippin/mx/loops/binary_loops.h"

namespace pippin::mx {
namespace {

bool has_own_elements(const Node& x) {  // no two elements share memory
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (x.shape[i] > 1 && x.strides[i] == 0) return false;
  }
  return true;
}

BinaryOp op_of(UpdateMode mode) {
  switch (mode) {
    case UpdateMode::Add:
      return BinaryOp::Add;
    case UpdateMode::Multiply:
      return BinaryOp::Multiply;
    case UpdateMode::Maximum:
      return BinaryOp::Maximum;
    default:
      return BinaryOp::Minimum;
  }
}

}  // namespace

void begin_update(Node& out) {
  Node& x = *out.inputs[0];
  if (x.has_one_owner() && x.buffer && x.buffer->has_one_owner() && x.buffer->is_writable() &&
      has_own_elements(x)) {
    return out.view(x, x.strides);
  }
  out.allocate();
  copy_to(x, out.data, out.dtype);
}

Updater::Updater(UpdateMode mode, Dtype dtype)
    : mode_(mode), dtype_(dtype), item_(static_cast<int64_t>(size_of(dtype))) {
  if (mode != UpdateMode::None) kind_of(dtype, "scatter");
}

void Updater::run(std::byte* to, int64_t to_step, const std::byte* update, int64_t update_step,
                  int64_t count) const {
  if (mode_ == UpdateMode::None) {
    return convert(update, dtype_, update_step, to, dtype_, to_step, count);
  }
  const Kind kind = kind_of(dtype_, "scatter");
  const LoadFunction load = loader(dtype_, kind);
  const StoreFunction store = storer(kind, dtype_);
  const BinaryFunction function = binary_function(op_of(mode_), kind);
  alignas(64) std::byte before[kPiece * 8], by[kPiece * 8];
  for (int64_t i = 0; i < count; i += kPiece) {
    const int64_t n = std::min(kPiece, count - i);
    load(to + i * to_step * item_, to_step, before, n);
    load(update + i * update_step * item_, update_step, by, n);
    function(before, 1, by, 1, before, n);
    store(before, to + i * to_step * item_, to_step, n);
  }
}

void Updater::block(const Shape& shape, Node& out, const Strides& out_strides, int64_t out_offset,
                    const Node& update, const Strides& update_strides,
                    int64_t update_offset) const {
  const Nest<2> nest(shape, {&update_strides, &out_strides});
  nest.each(0, nest.runs(), [&](const Nest<2>::Offsets& at, int64_t count) {
    run(out.data + (out_offset + at[1]) * item_, nest.steps()[1],
        update.data + (update_offset + at[0]) * item_, nest.steps()[0], count);
  });
}

}  // namespace pippin::mx
