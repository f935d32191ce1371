// Running one operation by its value rule: what constant folding and the reference interpreter are
// made of.
#pragma once

#include <vector>

#include "pippin/mil/ops/op.h"
#include "pippin/mil/program.h"
#include "pippin/mil/tensor.h"

namespace pippin::mil {

// Where an operation finds what it needs. The defaults of the last two refuse (Unsupported):
// folding has neither states nor blocks.
class Environment {
 public:
  virtual ~Environment() = default;
  virtual const Tensor& tensor_of(const Var* var) = 0;
  virtual Tensor& state_of(const Var* var);
  virtual std::vector<Tensor> run_block(const Block& block, std::vector<Tensor> inputs);
};

// The outputs, rounded to their declared types. The operation must have passed shape inference for
// inputs of these shapes (InvalidFile or worse otherwise). Throws Unsupported where the table lacks
// the op, InvalidFile where an output does not have its declared shape.
std::vector<Tensor> evaluate_operation(const Operation& operation, Opset opset,
                                       Environment& environment);

}  // namespace pippin::mil
