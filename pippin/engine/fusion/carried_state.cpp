#include "pippin/engine/fusion/carried_state.h"

#include "pippin/base/float_convert.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {

std::optional<View> replace_carried(Builder& builder, const mil::Operation& slice_update,
                                    const mil::Var* before) {
  const mil::Var* x = slice_update.input_var("x");
  if (x == nullptr || !builder.is_lowered(x) || !builder.is_lowered(before)) return std::nullopt;
  const mil::Shape shape = builder.shape(slice_update, "update");
  const View read = slice_view(builder, slice_update, builder.view(x), shape);
  if (!same_elements(read, builder.view(before))) return std::nullopt;
  const auto state = builder.update_in_place(slice_update);
  if (!state) return std::nullopt;
  builder.define_output(slice_update, *state);
  return slice_view(builder, slice_update, *state, shape);
}

FloatRows::FloatRows(const Operand& state, int64_t first, int64_t rows, int64_t stride, int64_t n,
                     float* scratch)
    : state_(state.data + first * element_size(state.storage)),
      rows_(rows),
      state_stride_(stride),
      n_(n),
      copied_(state.storage == Storage::F16),
      data_(copied_ ? scratch : reinterpret_cast<float*>(state_)) {
  if (!copied_) return;
  for (int64_t row = 0; row < rows_; ++row) {
    convert_f16_to_f32(state_ + row * state_stride_ * element_size(Storage::F16),
                       reinterpret_cast<std::byte*>(data_ + row * n_), static_cast<size_t>(n_));
  }
}

void FloatRows::store() const {
  if (!copied_) return;
  for (int64_t row = 0; row < rows_; ++row) {
    convert_f32_to_f16(reinterpret_cast<const std::byte*>(data_ + row * n_),
                       state_ + row * state_stride_ * element_size(Storage::F16),
                       static_cast<size_t>(n_));
  }
}

}  // namespace pippin::engine
