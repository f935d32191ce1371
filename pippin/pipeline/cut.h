// A plan cut into stages: runs of its nodes, one for each group of ranks, and the values that pass
// from one to the next.
//
// A plan is cut where few bytes pass, which is between layers, so that each stage reads about as
// many bytes of weights.
#pragma once

#include <cstddef>
#include <vector>

#include "pippin/engine/run/cpu_plan.h"

namespace pippin::pipeline {

// The groups [first, first + count). All groups have the same number of ranks, numbered one after
// another, which compute a stage together.
struct Groups {
  int first = 0;
  int count = 1;
};

struct Stage {
  int group = 0;
  size_t begin = 0, end = 0;        // nodes
  std::vector<int> received, sent;  // buffers; of the last stage nothing is sent
  std::vector<bool> inputs;         // by input of the plan: whether it is needed
};

// A border between two groups, the same in every plan of a function.
struct Border {
  size_t state_writes = 0;  // nodes before it that write states
  double share = 0;         // of the weights' bytes, read by the nodes before it
};

// Chooses the borders by a model's first plan. Throws Unsupported if it has fewer places to cut
// than are needed.
std::vector<Border> choose_borders(const engine::CpuPlan& plan, int count);

// Cuts a plan at the borders: as many stages as groups. Throws Unsupported if that is not possible.
std::vector<Stage> cut(const engine::CpuPlan& plan, Groups groups,
                       const std::vector<Border>& borders);

// The nodes of a stage as a plan: further inputs are the received values, and its outputs are the
// sent values or, of the last stage, those of the plan, which must outlive it.
engine::NodePlan stage_plan(const engine::NodePlan& plan, const Stage& stage, bool is_last);

}  // namespace pippin::pipeline
