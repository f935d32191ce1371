// Steps that compute rows of outputs that only the caller reads, so that a run computes only the
// requested ones: of a prompt's logits the last row, which for a large vocabulary saves much of the
// work.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "pippin/engine/run/cpu_plan.h"
#include "pippin/engine/run/lane.h"

namespace pippin::engine {

class OutputRows {
 public:
  explicit OutputRows(const CpuPlan& plan);

  // Whether the step writes only outputs, row by row (Step::row_axis()).
  bool may_skip(size_t step) const { return !steps_[step].outputs.empty(); }
  // The step's operands restricted to the given rows; nothing if one of their rows is not a row of
  // its outputs, or there are fewer rows. Valid until the next call. Requires may_skip(step).
  std::optional<std::span<const Operand>> only(size_t step, const Lane& lane, WantedRows rows);

 private:
  struct OutputStep {
    std::vector<size_t> outputs;  // for its written operands, the index among the plan's
    std::vector<bool> has_rows;   // by view: it is not constant
  };
  std::vector<OutputStep> steps_;
  std::vector<Operand> operands_;
};

}  // namespace pippin::engine
