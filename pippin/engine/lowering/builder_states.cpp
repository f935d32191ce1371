// States in a plan: reads, writes, and updates in place.
#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/engine/lowering/builder.h"

namespace pippin::engine {

using mil::Dim;
using mil::Shape;

View Builder::state_view(const mil::Var* state, const mil::Operation& reader) {
  const Shape& shape = info(state).shape;
  auto found = states_.find(state);
  if (found == states_.end()) {
    Buffer buffer;
    buffer.kind = Buffer::Kind::State;
    const mil::DataType type = state->type.parameters.at(0).data_type;
    const auto storage = native_storage(type);
    if (!storage) {
      fail(ErrorCode::Unsupported, "state '{}' has type {}", state->name, mil::to_string(type));
    }
    buffer.storage = *storage;
    buffer.elements = mil::num_elements(shape);
    buffer.name = state->name;
    found = states_.emplace(state, StateInfo{add_buffer(std::move(buffer)), 0}).first;
  }
  View view;
  view.buffer = found->second.buffer;
  view.storage = buffers_[static_cast<size_t>(view.buffer)].storage;
  view.shape = shape;
  view.strides = contiguous_strides(shape);
  view.state_read = &reader;
  view.state_version = found->second.version;
  return view;
}

View Builder::read_state(const mil::Operation& operation) {
  View state = state_view(operation.input_var("input"), operation);
  if (!copied_reads_.contains(&operation)) return state;
  View copy = allocate(state.storage, state.shape);
  emit_copy(copy, state);
  return copy;
}

void Builder::write_state(const mil::Operation& operation) {
  const mil::Var* state = operation.input_var("input");
  View target = state_view(state, operation);
  const View data = view(operation, "data");
  // A slice_update that worked in place has already done it.
  if (data.buffer == target.buffer && data.state_version == target.state_version) return;
  emit_copy(target, data);
  ++states_.at(state).version;
}

std::optional<View> Builder::update_in_place(const mil::Operation& slice_update) {
  const mil::Var* x = slice_update.input_var("x");
  if (copied_reads_.contains(&slice_update) || x == nullptr) return std::nullopt;
  const auto found = views_.find(x);
  if (found == views_.end() || found->second.state_read == nullptr) return std::nullopt;
  const View& whole = found->second;
  const mil::Var* state = nullptr;
  for (const auto& [var, info] : states_) {
    if (info.buffer == whole.buffer && info.version == whole.state_version) state = var;
  }
  if (state == nullptr || !(whole.offset == Dim(0)) || !is_contiguous(whole) ||
      whole.shape != info(state).shape) {
    return std::nullopt;
  }
  // The next write of this state must store this result.
  const auto& operations = region_.operations;
  auto next = std::find(operations.begin(), operations.end(), &slice_update);
  for (; next != operations.end(); ++next) {
    if ((*next)->type() != "write_state" || (*next)->input_var("input") != state) continue;
    if ((*next)->input_var("data") != slice_update.output()) return std::nullopt;
    ++states_.at(state).version;
    return state_view(state, slice_update);
  }
  return std::nullopt;
}

}  // namespace pippin::engine
