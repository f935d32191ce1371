// A plan as data: nodes, the memory of their values, and the interface to callers. Devices build
// their plans from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "pippin/engine/input_axes.h"
#include "pippin/engine/nodes/buffer.h"
#include "pippin/engine/nodes/node.h"
#include "pippin/engine/plan.h"
#include "pippin/mil/check/infer.h"

namespace pippin::engine {

struct NodePlan {
  struct InputValue {  // a symbol whose value is an element of an integer input
    size_t input;
    size_t element;
    uint64_t symbol;
  };

  std::string function;
  std::vector<Port> inputs, outputs;
  std::vector<mil::Feature> states;
  InputAxes axes;
  std::vector<InputValue> values;  // only those that sizes depend on
  std::vector<View> input_views, output_views;
  std::vector<mil::Constraint> constraints;
  std::vector<Node> nodes;  // in the order of execution
  std::vector<Buffer> buffers;
  std::vector<int64_t> offsets;  // in the arena, by buffer; -1: not in it
  int64_t arena_size = 0;
  // The bytes of constants, of this plan and of several.
  std::vector<std::vector<std::byte>> constants;
  std::vector<SharedBytes> shared_constants;

  const Buffer& buffer(const View& view) const { return buffers[static_cast<size_t>(view.buffer)]; }
};

// Whether the plan uses an input [.., rows, keys] only as the whole mask of attention, so that a
// device can apply the mask's rule instead.
bool only_masks_attention(const NodePlan& plan, size_t input);

// The states that other nodes than recurrences and the short convolutions before them
// (nodes/recurrence.h) read or write.
std::vector<std::string> states_outside_recurrences(const NodePlan& plan);

// Returns a line for each node, and for a list of nodes.
std::string nodes_text(const NodePlan& plan);
std::string nodes_json(const NodePlan& plan);

}  // namespace pippin::engine
