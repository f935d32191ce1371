#include "pippin/pipeline/device.h"

#include <algorithm>

#include "pippin/pipeline/pipeline.h"
#include "pippin/pipeline/state.h"

namespace pippin::pipeline {

std::shared_ptr<const engine::Plan> PipelineDevice::make_plan(const mil::Model& model,
                                                              std::string_view function,
                                                              const engine::PlanOptions& options) {
  return pipeline_->make_plan(model, function, options, groups_);
}

std::unique_ptr<engine::StateMemory> PipelineDevice::make_state(
    const std::vector<mil::Feature>& states) {
  return std::make_unique<PipelineState>(pipeline_, states);
}

std::shared_ptr<engine::Device> PipelineDevice::of_part(size_t index, size_t count) {
  const auto place = [&](size_t part) {
    return groups_.first + static_cast<int>(part * static_cast<size_t>(groups_.count) / count);
  };
  const int first = place(index);
  return std::make_shared<PipelineDevice>(pipeline_,
                                          Groups{first, std::max(place(index + 1) - first, 1)});
}

std::shared_ptr<engine::Device> PipelineDevice::of_end(bool is_last) {
  const int group = is_last ? groups_.first + groups_.count - 1 : groups_.first;
  return std::make_shared<PipelineDevice>(pipeline_, Groups{group, 1});
}

}  // namespace pippin::pipeline
