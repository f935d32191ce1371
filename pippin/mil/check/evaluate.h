// Runs one operation by its value rule. Constant folding and the reference interpreter use this.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/mil/ops/op.h"
#include "pippin/mil/program.h"
#include "pippin/mil/tensor.h"

namespace pippin::mil {

// Limits the iterations of all loops of a run, counted together.
struct LoopBudget {
  int64_t max_turns = int64_t{1} << 32;
  int64_t turns = 0;  // so far
};

// Supplies what an operation needs. The defaults of the next two functions throw Unsupported:
// constant folding has neither states nor blocks.
class Environment {
 public:
  virtual ~Environment() = default;
  virtual const Tensor& tensor_of(const Var* var) = 0;
  virtual Tensor& state_of(const Var* var);
  virtual std::vector<Tensor> run_block(const Block& block, std::vector<Tensor> inputs);
  // Null: the number of iterations is not limited.
  virtual LoopBudget* loop_budget() { return nullptr; }
};

// Returns the outputs, rounded to their declared types. The operation must have passed shape
// inference for inputs of these shapes; otherwise the result is undefined (InvalidFile or worse).
// Throws Unsupported if the table lacks the op, InvalidFile if an output does not have its declared
// shape.
std::vector<Tensor> evaluate_operation(const Operation& operation, Opset opset,
                                       Environment& environment);

}  // namespace pippin::mil
