// The steps of a plan that take the rows of several lanes in one run, so that all share one pass
// over the weights (Step::row_axis()).
//
// If every sequence has one row (a plan for decoding), the rows of a value are as far apart as the
// lanes' arenas, and the kernel gets that distance as its row stride: nothing is copied. If a
// sequence has a few rows (a window of tokens), a value lies in a state, or lanes are not at equal
// distances, rows are copied together first. Sequences with many rows gain nothing from this: they
// run one by one.
#pragma once

#include <exception>
#include <span>
#include <vector>

#include "pippin/engine/run/cpu_plan.h"
#include "pippin/engine/run/lane.h"
#include "pippin/engine/run/memory.h"

namespace pippin::engine {

class BatchedSteps {
 public:
  // For at most that many lanes.
  BatchedSteps(const CpuPlan& plan, size_t lanes);

  bool joins(size_t step) const { return steps_[step].joins; }
  int64_t scratch_bytes() const { return scratch_; }  // for each thread, a multiple of 64

  // Runs at least 2 `lanes`, for which joins(step) is true. `scratch` has scratch_bytes() for each
  // of the pool's threads. An error of any lane is stored in `error`, unless it holds one already.
  void run(size_t step, std::span<const Lane* const> lanes, ThreadPool& pool, std::byte* scratch,
           std::exception_ptr& error) noexcept;

 private:
  struct JointStep {
    bool joins = false;
    bool in_arenas = true;  // all values with rows: the arenas of lanes are one piece of memory
    int axis = 0;
    std::vector<bool> has_rows;  // by view: it is not constant
  };
  bool line_up(size_t step, std::span<const Lane* const> lanes);
  void gather(size_t step, std::span<const Lane* const> lanes, ThreadPool& pool, std::byte* scratch,
              std::exception_ptr& error);
  void copy_rows(size_t step, std::span<const Lane* const> lanes, bool back, ThreadPool& pool);

  const CpuPlan& plan_;
  std::vector<JointStep> steps_;
  int64_t scratch_ = 0;
  Memory staging_;  // floats, if rows are copied together
  std::vector<Operand> operands_;
};

}  // namespace pippin::engine
