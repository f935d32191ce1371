// Each operation's share of a function's time, estimated from its program alone: the bytes read and
// written and the arithmetic, for the default shapes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "pippin/mil/model.h"

namespace pippin::app {

struct OperationCost {
  const mil::Operation* operation = nullptr;
  // Weights count with their stored size. An operation that reads only some elements counts as many
  // as its result has; none if elements are not moved (a reshape, states).
  double bytes = 0;
  double arithmetic = 0;  // additions and multiplications
  // Known when the program is loaded: not part of a run, and without a share.
  bool constant = false;
  double share = 0;  // of the function's cost, 0..1; the sum is 1, or 0 if nothing costs anything
};

// In the order of mil::for_each_operation: an operation precedes those of its blocks. Each block
// counts as if it ran once. Dimensions without a default that are known only at run time count with
// their upper bound if there is one, otherwise as 1. Throws NotFound for a name that the model
// lacks; Unsupported for a pipeline, whose stages have their own functions.
std::vector<OperationCost> operation_costs(const mil::Model& model, std::string_view function);

}  // namespace pippin::app
