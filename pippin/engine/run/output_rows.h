// The steps that make rows of outputs which nothing but the caller reads, so that a run computes no
// others than are wanted: of a prompt's logits the last row, of a large vocabulary a good part of
// the work.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "pippin/engine/run/lane.h"

namespace pippin::engine {

class OutputRows {
 public:
  explicit OutputRows(const CpuPlan& plan);

  // Whether the step makes only outputs, and row by row (Step::row_axis()).
  bool may_skip(size_t step) const { return !steps_[step].outputs.empty(); }
  // The step's operands with the given rows only; nothing where a row of theirs is not one of its
  // outputs, or there are fewer. Valid until the next call. may_skip(step).
  std::optional<std::span<const Operand>> only(size_t step, const Lane& lane, WantedRows rows);

 private:
  struct OutputStep {
    std::vector<size_t> outputs;  // of what it writes, the place among the plan's
    std::vector<bool> has_rows;   // by view: it is no constant
  };
  std::vector<OutputStep> steps_;
  std::vector<Operand> operands_;
};

}  // namespace pippin::engine
