// Steps that compute rows of outputs that only the caller reads, so that a run computes only the
// requested ones: of a prompt's logits the last row, which for a large vocabulary saves much of the
// work. Rows may be changed element by element on their way to an output, as logits by a soft cap.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "pippin/engine/nodes/node_plan.h"
#include "pippin/engine/run/lane.h"

namespace pippin::engine {

class OutputRows {
 public:
  // How a node computes: as Step's functions of these names say.
  struct Facts {
    bool is_elementwise = false;
    int row_axis = -1;
  };
  // `facts`: by node.
  OutputRows(const NodePlan& plan, const std::vector<Facts>& facts);

  // Whether the step's rows become only rows of outputs: it computes them row by row
  // (Step::row_axis()) or element by element.
  bool may_skip(size_t step) const { return !steps_[step].made.empty(); }
  // The step's operands restricted to the given rows; nothing if one of their rows is not a row of
  // its outputs, or there are fewer rows. Valid until the next call. Requires may_skip(step).
  std::optional<std::span<const Operand>> only(size_t step, const Lane& lane, WantedRows rows);

 private:
  // The operand of a step that is written to an output, whose index is among the plan's.
  struct Written {
    size_t step, operand, output;
  };
  struct OutputStep {
    std::vector<Written> made;   // of its written operands, here or in later steps
    std::vector<bool> has_rows;  // by view
  };
  // Of a buffer: the steps that may be skipped and read it have that many views of it.
  struct Reads {
    size_t views = 0;
    const View* view = nullptr;
    std::vector<Written> made;
  };
  struct Uses {
    std::map<int, size_t> outputs;  // by buffer
    std::map<int, size_t> touched;  // number of views of all steps, by buffer
    std::map<int, Reads> reads;
  };

  static std::vector<Written> made_of(const NodePlan& plan, const Uses& uses, size_t step,
                                      size_t operand, const View& view);
  static std::optional<OutputStep> find(const NodePlan& plan, const Facts& facts, size_t step,
                                        const Uses& uses);

  std::vector<OutputStep> steps_;
  std::vector<Operand> operands_;
};

}  // namespace pippin::engine
