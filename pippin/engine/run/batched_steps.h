// The steps of a plan that take the rows of several lanes in one run, so that all share one pass
// over the weights (Step::row_axis()).
//
// Where every sequence has one row (a plan for decoding) the rows of a value lie at the distance of
// two lanes' arenas, and the kernel gets that as its row stride: nothing is copied. Where a
// sequence has a few rows (a window of tokens), a value lies in a state, or lanes do not lie at
// equal distances, rows are copied together first. Many rows a sequence gain nothing from company:
// they run one by one.
#pragma once

#include <exception>
#include <span>
#include <vector>

#include "pippin/engine/run/lane.h"
#include "pippin/engine/run/memory.h"

namespace pippin::engine {

class BatchedSteps {
 public:
  // For at most so many lanes.
  BatchedSteps(const LaneLayout& layout, size_t lanes);

  bool joins(size_t step) const { return steps_[step].joins; }
  int64_t scratch_bytes() const { return scratch_; }  // for each thread, a multiple of 64

  // `lanes` are at least 2; joins(step). `scratch` has scratch_bytes() for each of the pool's
  // threads. A fault of any lane is left in `error`, unless there is one already.
  void run(size_t step, std::span<const Lane* const> lanes, ThreadPool& pool, std::byte* scratch,
           std::exception_ptr& error) noexcept;

 private:
  struct JointStep {
    bool joins = false;
    bool in_arenas = true;  // all that has rows: the arenas of lanes are one piece of memory
    int axis = 0;
    std::vector<bool> has_rows;  // by view: it is no constant
  };
  bool line_up(size_t step, std::span<const Lane* const> lanes);
  void gather(size_t step, std::span<const Lane* const> lanes, ThreadPool& pool, std::byte* scratch,
              std::exception_ptr& error);
  void copy_rows(size_t step, std::span<const Lane* const> lanes, bool back, ThreadPool& pool);

  const LaneLayout& layout_;
  std::vector<JointStep> steps_;
  int64_t scratch_ = 0;
  Memory staging_;  // floats, where rows are copied together
  std::vector<Operand> operands_;
};

}  // namespace pippin::engine
