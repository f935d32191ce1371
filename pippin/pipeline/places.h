// The places between the nodes of a plan, and what passes there: where it can be cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pippin/engine/run/cpu_plan.h"

namespace pippin::pipeline {

// The first and the last node that uses each buffer; outputs are used after the last node.
struct Uses {
  explicit Uses(const engine::NodePlan& plan);
  // The buffers of the arena that are used before that place, and after it.
  std::vector<int> alive(const engine::NodePlan& plan, size_t place) const;

  std::vector<size_t> first, last;
  std::vector<bool> used;

 private:
  void add(const engine::View& view, size_t node);
};

// Facts of the place before each node, and of the one after the last node.
struct Places {
  explicit Places(const engine::CpuPlan& plan);
  // Of the weights' bytes, the part that is read before it.
  double share(size_t place) const;

  std::vector<size_t> state_writes;   // nodes before it that write states
  std::vector<int64_t> weight_bytes;  // read before it
  std::vector<double> live_bytes;     // written before it and used after it
};

}  // namespace pippin::pipeline
