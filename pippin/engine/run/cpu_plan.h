// A plan of the CPU: a list of nodes with the steps that carry them out, made by
// cpu/make_plan.h, run by cpu_execution.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pippin/engine/nodes/node_plan.h"
#include "pippin/engine/run/step.h"

namespace pippin::engine {

struct CpuPlan : Plan {
  explicit CpuPlan(NodePlan list) : node_plan(std::move(list)) {}

  const NodePlan node_plan;
  std::vector<std::unique_ptr<Step>> steps;  // by node
  int64_t scratch_size = 0;                  // per thread
  int64_t weights_read = 0, weights_saved = 0;
  std::shared_ptr<Peers> peers;  // null: it runs alone

  const std::string& name() const override { return node_plan.function; }
  std::span<const Port> inputs() const override { return node_plan.inputs; }
  std::span<const Port> outputs() const override { return node_plan.outputs; }
  const std::vector<mil::Feature>& states() const override { return node_plan.states; }
  uint64_t arena_bytes() const override { return static_cast<uint64_t>(node_plan.arena_size); }
  uint64_t weight_bytes() const override { return static_cast<uint64_t>(weights_read); }
  uint64_t saved_bytes() const override { return static_cast<uint64_t>(weights_saved); }
  std::string describe() const override;
  std::vector<std::string> states_outside_recurrences() const override {
    return engine::states_outside_recurrences(node_plan);
  }
  std::string nodes_text() const override { return engine::nodes_text(node_plan); }
  std::string nodes_json() const override { return engine::nodes_json(node_plan); }
  std::unique_ptr<DeviceExecution> make_execution(ThreadPool& pool) const override;
};

}  // namespace pippin::engine
