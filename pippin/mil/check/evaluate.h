// Running one operation by its value rule: what constant folding and the reference interpreter are
// made of.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/mil/ops/op.h"
#include "pippin/mil/program.h"
#include "pippin/mil/tensor.h"

namespace pippin::mil {

// How often the bodies of loops may run, all loops of a run taken together.
struct LoopBudget {
  int64_t max_turns = int64_t{1} << 32;
  int64_t turns = 0;  // so far
};

// Where an operation finds what it needs. The defaults of the next two refuse (Unsupported):
// folding has neither states nor blocks.
class Environment {
 public:
  virtual ~Environment() = default;
  virtual const Tensor& tensor_of(const Var* var) = 0;
  virtual Tensor& state_of(const Var* var);
  virtual std::vector<Tensor> run_block(const Block& block, std::vector<Tensor> inputs);
  // Null: loops end when they end.
  virtual LoopBudget* loop_budget() { return nullptr; }
};

// The outputs, rounded to their declared types. The operation must have passed shape inference for
// inputs of these shapes (InvalidFile or worse otherwise). Throws Unsupported where the table lacks
// the op, InvalidFile where an output does not have its declared shape.
std::vector<Tensor> evaluate_operation(const Operation& operation, Opset opset,
                                       Environment& environment);

}  // namespace pippin::mil
