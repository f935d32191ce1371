// The launches of runs of some lanes, from the launches of their nodes: direct, or as a graph.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "pippin/cuda/run/graph.h"
#include "pippin/cuda/run/seat.h"

namespace pippin::cuda {

// Memory for the nodes that take the rows of several lanes.
struct JointMemory {
  std::byte* scratch;
  uint32_t* failed;
};

// Launches of several lanes with equal grids become one, which reads its arguments from a table in
// the device's memory. The arguments of nodes that have changed from one run to another are in the
// table too, in its first part, which every run sends again; all others are passed by value or sent
// once. So a graph captured from a run computes later ones.
class Program {
 public:
  // `varies`, by item (see item_of()), is shared by the programs of an execution.
  Program(const CudaPlan& plan, std::vector<Seat*> seats, JointMemory joint,
          std::vector<bool>& varies);

  // Looks at the lanes, which have taken their values, and builds the steps if they changed.
  void prepare(Timeline& timeline);
  // Queues the copies and the steps. `sent` is set where the host's memory may be written again.
  // If `may_stop`, throws Cancelled between two steps if the call is cancelled.
  void run(Timeline& timeline, const std::vector<InputCopy>& copies, Mark& sent, bool may_stop);

  uint64_t last_use = 0;

 private:
  static constexpr size_t kNoPlace = SIZE_MAX;
  // One launch: of one item and some seats, or of all seats' rows.
  struct Step {
    size_t item, launch;
    size_t first_seat, num_seats;  // in step_seats_
    bool is_joint;
    size_t place = kNoPlace;  // of the arguments in the table
    Function function = nullptr;
  };
  struct Versions {
    uint64_t grids = 0, arguments = 0;
    bool is_joint = false;
  };
  struct JointNode {
    bool is_joint = false;
    std::vector<uint64_t> looked;  // by seat, of the versions of its operands
    std::vector<engine::Operand> operands;
    NodeLaunches launches;
  };

  // Items: the masks of inputs, then the nodes.
  size_t num_items() const { return num_masks_ + plan_.nodes().nodes.size(); }
  bool item_moves(size_t item) const;
  const NodeLaunches& launches_of(size_t item, size_t seat);
  const Launch& launch_of(const Step& step, size_t seat) const;

  void look(size_t item, bool& grids, bool& arguments);
  bool update_joint(size_t node);
  bool line_up(size_t node);

  void build(Timeline& timeline);
  void add_steps(size_t item);
  void add_step(size_t item, size_t launch, std::span<const size_t> seats, bool is_joint);
  void place_arguments(Timeline& timeline);
  void write_table(const Step& step);
  void send_table(Timeline& timeline, size_t size);
  void queue(Timeline& timeline, const std::vector<InputCopy>& copies, Mark* sent, bool may_stop);
  void queue_step(Timeline& timeline, const Step& step);

  const CudaPlan& plan_;
  const size_t num_masks_;
  std::vector<Seat*> seats_;
  JointMemory joint_memory_;
  std::vector<bool>& varies_;
  bool is_built_ = false;
  std::vector<Versions> versions_;  // by item and seat
  std::vector<JointNode> joints_;   // by node
  std::vector<bool> in_table_;      // by item, when the steps were built

  std::vector<Step> steps_;
  std::vector<size_t> step_seats_;
  size_t varying_bytes_ = 0, table_bytes_ = 0;
  bool is_sent_ = false;  // the part of the table that does not vary
  PinnedMemory table_;
  DeviceMemory device_table_;

  uint64_t runs_ = 0;  // since the steps were built, with the same copies
  std::vector<InputCopy> copies_;
  std::optional<CapturedGraph> graph_;
  uint64_t captures_ = 0, graph_runs_ = 0;
  std::vector<Launch> made_;
};

}  // namespace pippin::cuda
