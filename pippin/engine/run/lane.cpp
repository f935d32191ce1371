#include "pippin/engine/run/lane.h"

#include <algorithm>

#include <fmt/format.h>

#include "pippin/base/error.h"

namespace pippin::engine {

using mil::Dim;

LaneLayout::LaneLayout(const NodePlan& made, LaneMemory given)
    : plan(made), memory(std::move(given)) {
  for (const Node& node : plan.nodes) {
    first_operand.push_back(slots.size());
    first_scalar.push_back(scalars.size());
    for (const View& view : node.views) add_operand(view, &node);
    for (const Dim& dim : node.scalars) {
      scalars.push_back(number(dim, {0, scalars.size(), Patch::Kind::Scalar, 0}));
    }
  }
  first_operand.push_back(slots.size());
  first_scalar.push_back(scalars.size());
  for (const View& view : plan.input_views) add_operand(view, nullptr);
  for (const View& view : plan.output_views) add_operand(view, nullptr);
  known_.clear();
  for (const View& input : plan.input_views) {
    auto& operands_of = of_input.emplace_back();
    for (size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].view->buffer == input.buffer) operands_of.push_back(i);
    }
  }
}

int64_t LaneLayout::number(const Dim& dim, Patch patch) {
  if (const auto constant = dim.try_constant()) return *constant;
  auto& alike = known_[dim.to_string()];
  const auto same =
      std::find_if(alike.begin(), alike.end(), [&](size_t i) { return numbers[i] == dim; });
  if (same != alike.end()) {
    patch.number = *same;
  } else {
    patch.number = numbers.size();
    alike.push_back(numbers.size());
    numbers.push_back(dim);
  }
  patches.push_back(patch);
  return 0;
}

void LaneLayout::add_operand(const View& view, const Node* node) {
  const size_t index = slots.size();
  const size_t before = patches.size();
  Operand operand;
  operand.storage = view.storage;
  operand.rank = static_cast<int>(view.rank());
  for (size_t i = 0; i < view.shape.size(); ++i) {
    const auto axis = static_cast<uint8_t>(i);
    operand.shape[i] = number(view.shape[i], {0, index, Patch::Kind::Size, axis});
    operand.strides[i] = number(view.strides[i], {0, index, Patch::Kind::Stride, axis});
  }
  slots.push_back({&view, node});
  operands.push_back(operand);
  offsets.push_back(number(view.offset, {0, index, Patch::Kind::Offset, 0}));
  const auto buffer = static_cast<size_t>(view.buffer);
  if (patches.size() != before || plan.buffers[buffer].kind == Buffer::Kind::State) {
    moving.push_back(index);
  }
}

Lane::Lane(std::shared_ptr<const LaneLayout> layout, std::byte* arena)
    : layout_(std::move(layout)),
      operands_(layout_->operands),
      offsets_(layout_->offsets),
      scalars_(layout_->scalars),
      numbers_(layout_->numbers.size()),
      bases_(plan().buffers.size()),
      extents_(plan().buffers.size()) {
  for (size_t i = 0; i < bases_.size(); ++i) {
    const Buffer& buffer = plan().buffers[i];
    if (buffer.kind == Buffer::Kind::Constant) {
      const auto& constants = layout_->memory.constants;
      bases_[i] = constants.empty() ? const_cast<std::byte*>(buffer.data) : constants[i];
      extents_[i] = buffer.elements.constant();
    } else if (plan().offsets[i] >= 0) {
      extents_[i] = buffer.elements.upper();
    }
  }
  move_to(arena);
  size_t next = 0;
  for (size_t i = 0; i < operands_.size(); ++i) {
    if (next < layout_->moving.size() && layout_->moving[next] == i) {
      ++next;
    } else {
      check_extent(i);
    }
  }
}

void Lane::move_to(std::byte* arena) {
  arena_ = arena;
  for (size_t i = 0; i < bases_.size(); ++i) {
    if (plan().buffers[i].kind != Buffer::Kind::Constant && plan().offsets[i] >= 0) {
      bases_[i] = arena + plan().offsets[i];
    }
  }
  for (size_t i = 0; i < operands_.size(); ++i) {
    if (bases_[static_cast<size_t>(layout_->slots[i].view->buffer)] != nullptr) point(i);
  }
}

void Lane::lend(size_t input, const std::byte* elements) {
  const auto buffer = static_cast<size_t>(plan().input_views.at(input).buffer);
  std::byte* const base = elements != nullptr
                              ? const_cast<std::byte*>(elements)  // no step writes it
                              : arena_ + plan().offsets[buffer];
  if (bases_[buffer] == base) return;
  bases_[buffer] = base;
  for (const size_t operand : layout_->of_input[input]) point(operand);
}

void Lane::point(size_t operand) {
  Operand& target = operands_[operand];
  target.data = bases_[static_cast<size_t>(layout_->slots[operand].view->buffer)] +
                offsets_[operand] * element_size(target.storage);
}

// Checks that no operand leaves its buffer, independently of the shape rules.
void Lane::check_extent(size_t operand) const {
  const LaneLayout::Slot& slot = layout_->slots[operand];
  const int64_t extent = extents_[static_cast<size_t>(slot.view->buffer)];
  if (lies_inside(operands_[operand], offsets_[operand], extent)) return;
  fail(ErrorCode::InvalidArgument,
       "{}: {} from element {} on reaches beyond its value of {} elements",
       slot.node != nullptr ? node_name(*slot.node) : "an output", mil::to_string(slot.view->shape),
       offsets_[operand], extent);
}

void Lane::check_extents() const {
  for (const size_t operand : layout_->moving) check_extent(operand);
}

void Lane::resolve() {
  using Kind = LaneLayout::Patch::Kind;
  for (size_t i = 0; i < numbers_.size(); ++i)
    numbers_[i] = evaluate(layout_->numbers[i], symbols_);
  for (const LaneLayout::Patch& patch : layout_->patches) {
    const int64_t value = numbers_[patch.number];
    switch (patch.kind) {
      case Kind::Size:
        operands_[patch.index].shape[patch.axis] = value;
        break;
      case Kind::Stride:
        operands_[patch.index].strides[patch.axis] = value;
        break;
      case Kind::Offset:
        offsets_[patch.index] = value;
        break;
      case Kind::Scalar:
        scalars_[patch.index] = value;
        break;
    }
  }
  for (const size_t operand : layout_->moving) point(operand);
}

void Lane::bind_state(State& state) {
  for (size_t i = 0; i < plan().buffers.size(); ++i) {
    const Buffer& buffer = plan().buffers[i];
    if (buffer.kind != Buffer::Kind::State) continue;
    const auto index = state.find(buffer.name);
    if (!index) fail(ErrorCode::InvalidArgument, "there is no state '{}'", buffer.name);
    std::byte* const base = layout_->memory.state(state, *index);
    const uint64_t given = state_bytes(state.features()[*index]);
    const int64_t bytes = buffer.elements.constant() * element_size(buffer.storage);
    if (given != static_cast<uint64_t>(bytes)) {
      fail(ErrorCode::InvalidArgument, "state '{}' has {} bytes, the function needs {}",
           buffer.name, given, bytes);
    }
    bases_[i] = base;
    extents_[i] = buffer.elements.constant();
  }
  state_id_ = state.id();
}

void Lane::bind(const std::vector<std::vector<int64_t>>& shapes, State& state) {
  const bool same_state = state_id_ == state.id();
  if (same_state && shapes_ == shapes) return;
  shapes_.clear();  // bound again only if everything below succeeds
  plan().axes.set_symbols(shapes, symbols_);
  const bool waits_for_values = !plan().values.empty();
  if (!waits_for_values) check_constraints(plan().constraints, symbols_);
  if (!same_state) {
    state_id_ = 0;
    bind_state(state);
  }
  resolve();
  if (!waits_for_values) check_extents();
  resolved_ = !waits_for_values;
  shapes_ = shapes;
}

void Lane::take_value(const NodePlan::InputValue& value, int32_t number) {
  if (number < 0) {
    fail(ErrorCode::InvalidArgument, "element {} of input '{}' is {}; it takes 0 or more",
         value.element, plan().inputs[value.input].name, number);
  }
  const auto [symbol, fresh] = symbols_.try_emplace(value.symbol, number);
  resolved_ = resolved_ && !fresh && symbol->second == number;
  symbol->second = number;
}

void Lane::resolve_values() {
  check_constraints(plan().constraints, symbols_);
  resolve();
  check_extents();
  resolved_ = true;
}

}  // namespace pippin::engine
