// A place in an Execution: what one sequence's runs need besides the plan and its weights. Devices
// of all kinds use it: it computes addresses in their memory, and reads nothing there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "pippin/engine/nodes/node_plan.h"
#include "pippin/engine/run/step.h"

namespace pippin::engine {

// Where a device has what lanes do not bring themselves.
struct LaneMemory {
  // Of the state with that index in State::features(). Throws InvalidArgument for a State of
  // another device.
  std::function<std::byte*(State& state, size_t index)> state;
  // By buffer of the plan. Empty: constants lie where the plan has them.
  std::vector<std::byte*> constants;
};

// The common part of all lanes of a plan: the operands of all its nodes, and which of their numbers
// change with shapes and positions. The plan must outlive it.
struct LaneLayout {
  LaneLayout(const NodePlan& plan, LaneMemory memory);

  struct Slot {
    const View* view;
    const Node* node;  // null for inputs and outputs
  };
  // The destination of a number that changes.
  struct Patch {
    enum class Kind : uint8_t { Size, Stride, Offset, Scalar };
    size_t number;  // index in `numbers`
    size_t index;   // of the operand, or the scalar
    Kind kind;
    uint8_t axis;
  };

  const NodePlan& plan;
  const LaneMemory memory;
  std::vector<Slot> slots;  // of all nodes in order; then inputs, then outputs
  std::vector<size_t> first_operand, first_scalar;  // by node, and the end
  std::vector<Operand> operands;                    // with the numbers that are constant
  std::vector<int64_t> offsets;                     // by operand, in elements
  std::vector<int64_t> scalars;
  std::vector<mil::Dim> numbers;  // each once
  std::vector<Patch> patches;
  std::vector<size_t> moving;  // operands whose address or extent changes with shapes or state
  std::vector<std::vector<size_t>> of_input;  // operands that read it, by input

 private:
  void add_operand(const View& view, const Node* node);
  // The constant, or 0 and a patch.
  int64_t number(const mil::Dim& dim, Patch patch);

  std::map<std::string, std::vector<size_t>> known_;  // numbers by their text
};

class Lane {
 public:
  // `arena` has the plan's arena_size, zeroed or with the numbers of earlier runs.
  Lane(std::shared_ptr<const LaneLayout> layout, std::byte* arena);

  // The inputs' elements must have been copied already.
  void move_to(std::byte* arena);
  // Reads the input's elements there from now on; null: in the arena again.
  void lend(size_t input, const std::byte* elements);
  // Like Execution::bind().
  void bind(const std::vector<std::vector<int64_t>>& shapes, State& state);
  // Elements of inputs that positions and sizes depend on: known only when they have been written.
  // value_of(input, element) gives them.
  template <typename ValueOf>
  void take_values(const ValueOf& value_of) {
    for (const NodePlan::InputValue& value : plan().values) {
      take_value(value, value_of(value.input, value.element));
    }
    if (!resolved_) resolve_values();
  }

  std::span<const Operand> operands(size_t step) const {
    return {operands_.data() + layout_->first_operand[step],
            layout_->first_operand[step + 1] - layout_->first_operand[step]};
  }
  std::span<const int64_t> scalars(size_t step) const {
    return {scalars_.data() + layout_->first_scalar[step],
            layout_->first_scalar[step + 1] - layout_->first_scalar[step]};
  }
  const Operand& input(size_t index) const { return operands_.at(first_input() + index); }
  const Operand& output(size_t index) const {
    return operands_.at(operands_.size() - plan().output_views.size() + index);
  }

 private:
  const NodePlan& plan() const { return layout_->plan; }
  size_t first_input() const {
    return operands_.size() - plan().output_views.size() - plan().input_views.size();
  }
  void bind_state(State& state);
  void take_value(const NodePlan::InputValue& value, int32_t number);
  void resolve_values();
  void check_extent(size_t operand) const;
  void check_extents() const;
  void resolve();
  void point(size_t operand);

  std::shared_ptr<const LaneLayout> layout_;
  std::vector<Operand> operands_;
  std::vector<int64_t> offsets_, scalars_, numbers_;
  std::vector<std::vector<int64_t>> shapes_;
  std::map<uint64_t, int64_t> symbols_;
  uint64_t state_id_ = 0;  // 0: not bound
  std::byte* arena_ = nullptr;
  std::vector<std::byte*> bases_;  // by buffer
  std::vector<int64_t> extents_;   // by buffer, in elements
  bool resolved_ = false;          // for the values in symbols_
};

}  // namespace pippin::engine
