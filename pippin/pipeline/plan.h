// A plan over several ranks: the plan of one process, of which each group of them runs a stage.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pippin/engine/run/cpu_plan.h"
#include "pippin/pipeline/cut.h"

namespace pippin::pipeline {

class Pipeline;

class PipelinePlan final : public engine::Plan {
 public:
  // `whole` is the plan of one process.
  PipelinePlan(std::shared_ptr<Pipeline> pipeline, uint32_t id,
               std::shared_ptr<const engine::CpuPlan> whole, std::vector<Stage> stages,
               const engine::ComputeOptions& compute);

  const std::string& name() const override { return whole_->name(); }
  std::span<const engine::Port> inputs() const override { return whole_->inputs(); }
  std::span<const engine::Port> outputs() const override { return whole_->outputs(); }
  const std::vector<mil::Feature>& states() const override { return whole_->states(); }
  uint64_t arena_bytes() const override { return whole_->arena_bytes(); }
  uint64_t weight_bytes() const override { return whole_->weight_bytes(); }
  uint64_t saved_bytes() const override { return whole_->saved_bytes(); }
  std::string describe() const override;
  std::vector<std::string> states_outside_recurrences() const override {
    return whole_->states_outside_recurrences();
  }
  std::string nodes_text() const override { return whole_->nodes_text(); }
  std::string nodes_json() const override { return whole_->nodes_json(); }
  std::unique_ptr<engine::DeviceExecution> make_execution(ThreadPool& pool) const override;

  uint32_t id() const { return id_; }
  // Differs between plans that are not the same on all ranks.
  uint64_t mark() const;
  const engine::NodePlan& nodes() const { return whole_->node_plan; }
  const std::vector<Stage>& stages() const { return stages_; }
  // The index of this rank's stage, and its plan; nothing and null: it has no nodes.
  const std::optional<size_t>& own_stage() const { return own_stage_; }
  const std::shared_ptr<const engine::CpuPlan>& own() const { return own_; }
  Pipeline& pipeline() const { return *pipeline_; }

 private:
  const std::shared_ptr<Pipeline> pipeline_;
  const uint32_t id_;
  const std::shared_ptr<const engine::CpuPlan> whole_;
  const std::vector<Stage> stages_;
  std::optional<size_t> own_stage_;
  std::shared_ptr<const engine::CpuPlan> own_;
};

}  // namespace pippin::pipeline
