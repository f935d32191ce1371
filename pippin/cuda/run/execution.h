// Runs a plan on a GPU. A run is queued and returns: the host waits where it asks for results.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "pippin/cuda/launchers/choice.h"
#include "pippin/cuda/run/program.h"
#include "pippin/cuda/run/seat.h"
#include "pippin/engine/device_execution.h"

namespace pippin::cuda {

class CudaExecution final : public engine::DeviceExecution {
 public:
  explicit CudaExecution(const CudaPlan& plan);
  ~CudaExecution() override;

  void reserve_lanes(size_t count) override;
  size_t lanes() const override { return seats_.size(); }
  void bind(const std::vector<std::vector<int64_t>>& shapes, engine::State& state,
            size_t lane) override;
  MutableByteSpan input_bytes(size_t index, size_t lane) override;
  bool put_causal_mask(size_t index, int64_t past, size_t lane) override;
  void run(size_t lane, std::optional<engine::WantedRows> rows) override;
  void run_cancellable(size_t lane) override;
  void run_together(std::span<const size_t> lanes) override;
  ByteSpan output_bytes(size_t index, size_t lane) const override;
  ByteSpan output_part(size_t index, size_t begin, size_t size, size_t lane) const override;
  // Where lanes ran together, the first question is answered for all of them at once.
  std::optional<int32_t> largest(size_t index, size_t begin, size_t count,
                                 size_t lane) const override;
  std::vector<engine::RankedElement> largest_ones(size_t index, size_t begin, size_t count,
                                                  size_t lane) const override;
  std::span<const int64_t> output_shape(size_t index, size_t lane) const override;

 private:
  const Gpu& gpu() const { return *plan_.resources().gpu; }
  Seat& seat(size_t lane) const { return *seats_.at(lane); }
  // The words of a lane in the host's memory: one of each node, then a choice.
  size_t num_words() const { return num_nodes() + 2 * kMostRanked; }
  // A lane's place in the memory of all.
  std::byte* arena(size_t lane) const { return memory_.data() + lane * lane_stride_; }
  std::byte* scratch(size_t lane) const;
  uint32_t* failed(size_t lane) const;
  size_t num_nodes() const { return plan_.nodes().nodes.size(); }

  void run_lanes(std::span<const size_t> lanes, bool may_stop);
  Program& program_of(std::span<const size_t> lanes);
  // Returns the lane's choice among these elements, or null if the device cannot choose.
  const Seat::Choice* choice(size_t index, size_t begin, size_t count, bool is_ranked,
                             size_t lane) const;
  void choose(const Seat::Choice& wanted, std::span<const size_t> lanes) const;
  // Waits for all queued work. Throws InvalidArgument, naming the node, if a kernel refused its
  // data.
  void synchronize() const;
  void check_failed() const;

  const CudaPlan& plan_;
  std::shared_ptr<Timeline> timeline_;
  const uint64_t lane_stride_;
  uint64_t scratch_stride_ = 0;
  size_t count_ = 0;     // of lanes that the memory is for
  DeviceMemory memory_;  // arenas, then scratch, then what choices need, of all lanes
  PinnedMemory words_;   // num_words() of each lane
  std::vector<std::unique_ptr<Seat>> seats_;
  std::vector<bool> varies_;
  std::map<std::vector<size_t>, std::unique_ptr<Program>> programs_;
  uint64_t runs_ = 0;
  Mark sent_;  // copies of the last run
  std::vector<size_t> last_lanes_;
  std::vector<InputCopy> copies_;
  mutable std::vector<Launch> made_;
};

}  // namespace pippin::cuda
