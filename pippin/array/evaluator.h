// Computing an array at once. The engine fills the interface; `array` knows no engine.
#pragma once

#include <memory>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/mil/tensor.h"

namespace pippin::array {

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // Runs a function without inputs; its outputs, in order.
  virtual std::vector<mil::Tensor> run(const mil::Program& program) = 0;
};

// One for the process; null removes it.
void set_evaluator(std::shared_ptr<Evaluator> evaluator);

// The value of an array that depends on no input. Throws Unsupported where no evaluator is set,
// InvalidArgument where the array does depend on one.
mil::Tensor evaluate(const Array& value);

}  // namespace pippin::array
