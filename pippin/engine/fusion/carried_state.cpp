#include "pippin/engine/fusion/carried_state.h"

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

}  // namespace pippin::engine
