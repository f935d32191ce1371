// Inputs and outputs of a run, converted between callers' tensors and those of plans.
#pragma once

#include <cstddef>

#include "pippin/engine/dynamic/run_value.h"
#include "pippin/engine/host_tensor.h"
#include "pippin/engine/plan.h"
#include "pippin/mil/program.h"

namespace pippin::engine {

// A function's input as the program declares it; [1] stands for a scalar. Throws InvalidArgument
// for another shape.
RunValue to_input(const mil::Var& var, const HostTensor& given);
// A function's output in the type that the program declares.
HostTensor to_output(const mil::Var& var, const RunValue& value);

// Copies the value of `var`, a tensor of numbers, into an input of an execution.
void copy_input(const RunValue& value, const mil::Var& var, Execution& execution, size_t index);
RunValue copy_output(const Execution& execution, size_t index, const mil::Var& var);

}  // namespace pippin::engine
