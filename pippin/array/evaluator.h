// Immediate evaluation of arrays. The engine implements the interface; `array` does not depend on
// it.
#pragma once

#include <memory>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/mil/tensor.h"

namespace pippin::array {

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // Runs a function without inputs; returns its outputs in order.
  virtual std::vector<mil::Tensor> run(const mil::Program& program) = 0;
};

// Sets the evaluator of the process; null removes it.
void set_evaluator(std::shared_ptr<Evaluator> evaluator);

// Returns the value of an array that depends on no input. Throws Unsupported if no evaluator is
// set, InvalidArgument if the array depends on an input.
mil::Tensor evaluate(const Array& value);

}  // namespace pippin::array
