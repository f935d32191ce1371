// The ranks of a group as the peers of an execution.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pippin/engine/run/peers.h"
#include "pippin/pipeline/transport.h"

namespace pippin::pipeline {

class Pipeline;

// Each rank sends its parts to each other one of the group. Their addition in the network
// (MPI_Allreduce) would take fewer bytes, and give other bits for each number of ranks.
class GroupPeers final : public engine::Peers {
 public:
  GroupPeers(Pipeline& pipeline, int64_t least_work);

  int index() const override;
  int count() const override;
  int64_t least_work() const override { return least_work_; }
  // Ends the job if memory is short, since the other ranks wait for the parts.
  void exchange(std::span<const Divided> values) override;

 private:
  void take(std::span<const Divided> values, int rank, Message& message) const;

  Pipeline& pipeline_;
  const int64_t least_work_;
  std::vector<int> others_;  // ranks
};

}  // namespace pippin::pipeline
