#include "pippin/pipeline/plan.h"

#include <fmt/format.h>

#include "pippin/engine/cpu/make_plan.h"
#include "pippin/pipeline/execution.h"
#include "pippin/pipeline/pipeline.h"

namespace pippin::pipeline {

PipelinePlan::PipelinePlan(std::shared_ptr<Pipeline> pipeline, uint32_t id,
                           std::shared_ptr<const engine::CpuPlan> whole, std::vector<Stage> stages,
                           const engine::ComputeOptions& compute)
    : pipeline_(std::move(pipeline)),
      id_(id),
      whole_(std::move(whole)),
      stages_(std::move(stages)) {
  for (size_t i = 0; i < stages_.size(); ++i) {
    if (stages_[i].group != pipeline_->group()) continue;
    own_stage_ = i;
    own_ = engine::make_plan(stage_plan(nodes(), stages_[i], i + 1 == stages_.size()), compute,
                             pipeline_->peers());
  }
}

std::string PipelinePlan::describe() const {
  std::string text;
  for (const Stage& stage : stages_) {
    const int first = pipeline_->leader(stage.group), last = first + pipeline_->width() - 1;
    text += fmt::format(
        "{}: nodes [{}, {})\n",
        first == last ? fmt::format("rank {}", first) : fmt::format("ranks {} to {}", first, last),
        stage.begin, stage.end);
  }
  return text + whole_->describe();
}

uint64_t PipelinePlan::mark() const {
  uint64_t mark = nodes().nodes.size();
  const auto add = [&](uint64_t number) { mark = mark * 0x9E3779B97F4A7C15U + number; };
  add(static_cast<uint64_t>(nodes().arena_size));
  add(whole_->weight_bytes());
  for (const Stage& stage : stages_) add(stage.end);
  add(static_cast<uint64_t>(pipeline_->width()));
  return mark;
}

std::unique_ptr<engine::DeviceExecution> PipelinePlan::make_execution(ThreadPool& pool) const {
  return std::make_unique<PipelineExecution>(*this, pool);
}

}  // namespace pippin::pipeline
