// The device of some of a pipeline's groups of ranks, which share the nodes of each plan.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pippin/engine/parted_device.h"
#include "pippin/pipeline/cut.h"

namespace pippin::pipeline {

class Pipeline;

class PipelineDevice final : public engine::PartedDevice {
 public:
  PipelineDevice(std::shared_ptr<Pipeline> pipeline, Groups groups)
      : pipeline_(std::move(pipeline)), groups_(groups) {}

  const std::string& name() const override { return name_; }
  std::shared_ptr<const engine::Plan> make_plan(const mil::Model& model, std::string_view function,
                                                const engine::PlanOptions& options) override;
  std::unique_ptr<engine::StateMemory> make_state(const std::vector<mil::Feature>& states) override;
  // The groups are shared out evenly; with more parts than groups, parts that follow each other
  // have the same group.
  std::shared_ptr<engine::Device> of_part(size_t index, size_t count) override;
  std::shared_ptr<engine::Device> of_end(bool is_last) override;
  // More pieces follow each other more closely, fewer read the weights less often.
  int64_t prompt_piece() const override {
    return groups_.count > 1 ? 64 : std::numeric_limits<int64_t>::max();
  }
  // One in each group.
  int64_t runs_in_flight() const override { return groups_.count; }

 private:
  const std::shared_ptr<Pipeline> pipeline_;
  const Groups groups_;
  const std::string name_ = "pipeline";
};

}  // namespace pippin::pipeline
