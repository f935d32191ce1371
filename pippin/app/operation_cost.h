// What each operation of a function takes of the function's time, estimated from its program alone:
// the bytes that it reads and writes and the arithmetic that it does, in the default shapes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "pippin/mil/model.h"

namespace pippin::app {

struct OperationCost {
  const mil::Operation* operation = nullptr;
  // Weights as they are stored. Of what an operation reads some elements of, as many as its result
  // has; nothing if elements stay where they are (a reshape, states).
  double bytes = 0;
  double arithmetic = 0;  // additions and multiplications
  // Known when the program is loaded: takes no part in a run, and no share.
  bool constant = false;
  double share = 0;  // of the function's cost, 0..1; together 1, or 0 where nothing costs anything
};

// In the order of mil::for_each_operation: an operation stands before those of its blocks. Blocks
// count as if each ran once. Dimensions without a default that only running tells count with their
// upper bound where there is one, else as 1. Throws NotFound for a name that the model lacks;
// Unsupported for a pipeline, whose stages have functions of their own.
std::vector<OperationCost> operation_costs(const mil::Model& model, std::string_view function);

}  // namespace pippin::app
