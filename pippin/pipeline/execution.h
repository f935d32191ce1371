// The execution of a plan over several ranks: on rank 0 the one that callers use, on others the one
// that carries out rank 0's commands.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "pippin/engine/device_execution.h"
#include "pippin/engine/run/lane.h"
#include "pippin/engine/run/memory.h"
#include "pippin/pipeline/plan.h"
#include "pippin/pipeline/read_ahead.h"
#include "pippin/pipeline/stage_run.h"
#include "pippin/pipeline/transport.h"

namespace pippin::pipeline {

class PipelineExecution final : public engine::DeviceExecution {
 public:
  PipelineExecution(const PipelinePlan& plan, ThreadPool& pool);
  ~PipelineExecution() override;

  void reserve_lanes(size_t count) override;
  size_t lanes() const override { return seats_.size(); }
  void bind(const std::vector<std::vector<int64_t>>& shapes, engine::State& state,
            size_t lane) override;
  MutableByteSpan input_bytes(size_t index, size_t lane) override;
  bool put_causal_mask(size_t index, int64_t past, size_t lane) override;
  void run(size_t lane, std::optional<engine::WantedRows> rows) override;
  void run_together(std::span<const size_t> lanes) override;
  ByteSpan output_bytes(size_t index, size_t lane) const override;
  ByteSpan output_part(size_t index, size_t begin, size_t size, size_t lane) const override;
  std::span<const int64_t> output_shape(size_t index, size_t lane) const override;

  uint32_t plan_id() const;

  // Of other ranks: Command::Run and Command::Fetch.
  void carry_out_run(ByteReader& message);
  Message carry_out_fetch(ByteReader& message);

 private:
  // Of the whole plan; on rank 0 with the inputs that callers wrote.
  struct Seat {
    Seat(const std::shared_ptr<const engine::LaneLayout>& layout, uint64_t arena_bytes);
    ByteSpan input(size_t index) const;
    size_t output_size(size_t index) const;

    engine::Memory arena;
    engine::Lane lane;
    std::vector<std::vector<int64_t>> shapes;
    engine::State* state = nullptr;
    uint64_t state_id = 0;                        // its PipelineState's; 0: the plan has no states
    std::vector<bool> is_written;                 // by input: since the last run
    std::map<size_t, int64_t> past;               // of causal masks, by input
    std::vector<std::vector<std::byte>> fetched;  // by output
  };

  void start(std::span<const size_t> lanes, const std::optional<engine::WantedRows>& rows);
  void ask_for_outputs(size_t lane);
  Message fetch_message(const OutputPart& part, size_t lane) const;
  // The state of a lane for Pipeline::keep_failure(), or a number of its own.
  uint64_t failure_key(size_t lane) const;
  Message run_message(const Stage& stage, std::span<const size_t> lanes,
                      const std::optional<engine::WantedRows>& rows) const;
  void put_own_inputs(const Stage& stage, size_t lane);

  const PipelinePlan& plan_;
  std::shared_ptr<const engine::LaneLayout> layout_;
  std::vector<std::unique_ptr<Seat>> seats_;
  std::unique_ptr<StageRun> own_;  // null: no nodes here
  std::vector<uint64_t> states_;   // of other ranks: by lane, of the last run; 0: none
  mutable ReadAhead ahead_;
  uint32_t id_;
};

}  // namespace pippin::pipeline
