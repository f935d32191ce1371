// A function for one class of shapes as launches on a GPU.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pippin/cuda/launchers/launcher.h"
#include "pippin/cuda/run/resources.h"
#include "pippin/engine/nodes/node_plan.h"
#include "pippin/engine/run/lane.h"
#include "pippin/engine/run/output_rows.h"

namespace pippin::cuda {

class CudaPlan final : public engine::Plan {
 public:
  // Throws Unsupported, naming it, for a node without a kernel; LimitExceeded if the GPU's memory
  // is short, before anything is uploaded.
  CudaPlan(ResourcesPointer resources, engine::NodePlan made,
           const engine::ComputeOptions& options);

  const std::string& name() const override { return nodes_.function; }
  std::span<const engine::Port> inputs() const override { return nodes_.inputs; }
  std::span<const engine::Port> outputs() const override { return nodes_.outputs; }
  const std::vector<mil::Feature>& states() const override { return nodes_.states; }
  uint64_t arena_bytes() const override { return static_cast<uint64_t>(nodes_.arena_size); }
  uint64_t weight_bytes() const override { return weights_read_; }
  uint64_t saved_bytes() const override { return 0; }
  std::string describe() const override;
  std::vector<std::string> states_outside_recurrences() const override {
    return engine::states_outside_recurrences(nodes_);
  }
  std::string nodes_text() const override { return engine::nodes_text(nodes_); }
  std::string nodes_json() const override { return engine::nodes_json(nodes_); }
  std::unique_ptr<engine::DeviceExecution> make_execution(ThreadPool& pool) const override;

  // --- for executions ---

  // A node that multiplies the rows of several lanes by its weights in one launch.
  struct Joint {
    bool joins = false;
    int axis = 0;                // of rows
    std::vector<bool> has_rows;  // by view: it is not constant
  };

  Resources& resources() const { return *resources_; }
  const engine::NodePlan& nodes() const { return nodes_; }
  const std::shared_ptr<const engine::LaneLayout>& layout() const { return layout_; }
  const std::vector<LauncherPointer>& launchers() const { return launchers_; }
  bool moves(size_t node) const { return moves_[node]; }
  bool has_state(size_t node) const;  // whether it reads or writes one
  const engine::OutputRows& output_rows() const { return *output_rows_; }
  const Joint& joint(size_t node) const { return joints_[node]; }
  bool only_masks(size_t input) const { return only_masks_[input]; }
  bool is_read(size_t input) const { return is_read_[input]; }  // by a node
  uint64_t lane_bytes() const;                                  // of a lane's values
  // Of each of so many lanes, for the node that needs the most.
  uint64_t scratch_bytes(size_t lanes) const;

 private:
  std::vector<LauncherPointer> make_launchers(const engine::ComputeOptions& options,
                                              WeightStore& weights) const;
  std::vector<bool> used_constants() const;
  void check_memory(const engine::ComputeOptions& options);
  void upload_constants();
  Joint joint_of(const engine::Node& node, const Launcher& launcher) const;

  const ResourcesPointer resources_;
  const engine::NodePlan nodes_;
  std::vector<LauncherPointer> launchers_;  // by node
  std::vector<UploadedBytes> constants_;    // by buffer
  std::shared_ptr<const engine::LaneLayout> layout_;
  std::vector<bool> moves_, only_masks_, is_read_;
  std::vector<Joint> joints_;
  std::optional<engine::OutputRows> output_rows_;
  uint64_t scratch_ = 0, weights_read_ = 0;
};

}  // namespace pippin::cuda
