// The data of a CPU plan: made in planning/, run by cpu_execution.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pippin/engine/input_axes.h"
#include "pippin/engine/nodes/buffer.h"
#include "pippin/engine/plan.h"
#include "pippin/engine/run/step.h"
#include "pippin/mil/check/infer.h"

namespace pippin::engine {

struct CpuPlan : Plan {
  struct InputValue {  // a symbol whose value is an element of an integer input
    size_t input;
    size_t element;
    uint64_t symbol;
  };

  std::string function_name;
  std::vector<Port> input_ports, output_ports;
  std::vector<mil::Feature> state_features;
  InputAxes axes;
  std::vector<InputValue> values;  // only those that something depends on
  std::vector<View> input_views, output_views;
  std::vector<mil::Constraint> constraints;
  std::vector<Buffer> buffers;
  std::vector<int64_t> buffer_offsets;  // in the arena, by buffer; -1 for others
  std::vector<std::vector<std::byte>> constants;
  std::vector<SharedBytes> shared_constants;  // shared with other plans of the program
  std::vector<Node> nodes;
  std::vector<std::unique_ptr<Step>> steps;  // the CPU's implementation of each node
  int64_t arena_size = 0;
  int64_t scratch_size = 0;  // per thread
  int64_t weights_read = 0, weights_saved = 0;

  const std::string& name() const override { return function_name; }
  std::span<const Port> inputs() const override { return input_ports; }
  std::span<const Port> outputs() const override { return output_ports; }
  const std::vector<mil::Feature>& states() const override { return state_features; }
  uint64_t arena_bytes() const override { return static_cast<uint64_t>(arena_size); }
  uint64_t weight_bytes() const override { return static_cast<uint64_t>(weights_read); }
  uint64_t saved_bytes() const override { return static_cast<uint64_t>(weights_saved); }
  std::string describe() const override;
  std::string nodes_text() const override;
  std::string nodes_json() const override;
  std::unique_ptr<DeviceExecution> make_execution(ThreadPool& pool) const override;
};

}  // namespace pippin::engine
