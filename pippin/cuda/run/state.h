// The state of a sequence in the GPU's memory.
#pragma once

#include <memory>
#include <vector>

#include "pippin/cuda/run/resources.h"
#include "pippin/cuda/run/timeline.h"
#include "pippin/engine/state.h"

namespace pippin::cuda {

class CudaState final : public engine::StateMemory {
 public:
  CudaState(ResourcesPointer resources, const std::vector<mil::Feature>& states);
  ~CudaState() override;

  void reset() override;
  void read_rows(size_t index, const engine::StateRows& rows, std::byte* to,
                 uint64_t stride) const override;
  void write_rows(size_t index, const engine::StateRows& rows, const std::byte* from,
                  uint64_t stride) override;
  void copy_rows(size_t index, const engine::StateRows& rows,
                 const engine::StateMemory& from) override;
  bool share(size_t index, const engine::StateMemory& from) override;
  std::unique_ptr<engine::StateMemory> clone() const override;

  // --- for executions ---

  bool is_on(const Gpu& gpu) const { return resources_->gpu.get() == &gpu; }
  std::byte* address(size_t index) const { return arrays_.at(index)->data(); }
  // From now on its work belongs to that timeline. Waits for work queued on others.
  void move_to(const std::shared_ptr<Timeline>& timeline);

 private:
  CudaState(ResourcesPointer resources, std::shared_ptr<Timeline> timeline)
      : resources_(std::move(resources)), timeline_(std::move(timeline)) {}

  ResourcesPointer resources_;
  std::shared_ptr<Timeline> timeline_;  // of the last work on it
  std::vector<std::shared_ptr<DeviceMemory>> arrays_;
};

}  // namespace pippin::cuda
