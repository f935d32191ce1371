// A rank's own nodes of a plan: takes the values of the stage before, runs, and sends those of the
// next stage. The ranks of a group do the same with one of each other group.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "pippin/base/bytes.h"
#include "pippin/base/error.h"
#include "pippin/engine/device_execution.h"
#include "pippin/pipeline/plan.h"

namespace pippin::pipeline {

class StageRun {
 public:
  // The plan must have a stage of this rank, and outlive this object.
  StageRun(const PipelinePlan& plan, ThreadPool& pool);

  void reserve_lanes(size_t count) { execution_->reserve_lanes(count); }
  void bind(const std::vector<std::vector<int64_t>>& shapes, engine::State& state, size_t lane) {
    execution_->bind(shapes, state, lane);
  }
  // Throws Internal for another size than that of the input.
  void put(size_t input, ByteSpan bytes, size_t lane);
  // Of an input with this shape (engine::DeviceExecution::put_causal_mask()).
  void put_causal_mask(size_t input, const std::vector<int64_t>& shape, int64_t past, size_t lane);
  // An Error of this stage, or of one before, travels with the values to the last stage, whose run
  // returns it.
  std::optional<Error> run(std::span<const size_t> lanes,
                           const std::optional<engine::WantedRows>& rows);
  // Of the last stage: bytes of an output.
  ByteSpan output_part(size_t index, size_t begin, size_t size, size_t lane) const {
    return execution_->output_part(index, begin, size, lane);
  }

 private:
  const Stage& stage() const { return plan_.stages()[index_]; }
  bool is_last() const { return index_ + 1 == plan_.stages().size(); }
  // Returns the Error of a stage before.
  std::optional<Error> take_values(std::span<const size_t> lanes);
  void send_values(std::span<const size_t> lanes, const std::optional<Error>& failure);

  const PipelinePlan& plan_;
  const size_t index_;
  const std::unique_ptr<engine::DeviceExecution> execution_;
};

}  // namespace pippin::pipeline
