// The reference interpreter: runs a program operation by operation with the value rules of the op
// table. Slow and obvious; the oracle for everything that is fast.
//
// Every output is rounded to its declared type. Before a run, shapes are inferred from those of the
// inputs; after each operation what inference said of its outputs is compared with what came out,
// so that every run tests the shape rules as well. Values are freed after their last use.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pippin/mil/program.h"
#include "pippin/mil/tensor.h"

namespace pippin::engine {

// The states of one sequence by name; missing ones start as zeros.
struct ReferenceState {
  std::map<std::string, mil::Tensor> states;
};

struct ReferenceOptions {
  // A value of more elements is refused with LimitExceeded,
  int64_t max_elements = int64_t{1} << 31;
  // and so is one that makes more with all others that are still needed, constants not counted,
  int64_t max_live_elements = int64_t{1} << 32;
  // and a turn of a loop beyond this number, all loops of the run taken together.
  int64_t max_loop_turns = 10'000'000;
  // Also infers with symbols for the dimensions that the program leaves open, and compares what
  // they evaluate to. Programs that need those sizes to be numbers are refused then.
  bool check_symbolic = false;
};

class ReferenceInterpreter {
 public:
  // The program must outlive the interpreter and not change. Throws NotFound.
  ReferenceInterpreter(const mil::Program& program, std::string_view function,
                       const ReferenceOptions& options = {});

  // The outputs by name. Inputs are rounded to their declared types; [1] stands for a scalar.
  // Throws InvalidArgument for inputs that are missing or do not fit, InvalidFile and Unsupported
  // as mil::infer, LimitExceeded, and Internal where a shape rule and its value rule disagree.
  std::map<std::string, mil::Tensor> run(const std::map<std::string, mil::Tensor>& inputs,
                                         ReferenceState& state) const;

 private:
  class Run;
  using TensorPtr = std::shared_ptr<const mil::Tensor>;

  void find_last_uses(const mil::Block& block);

  const mil::Function& function_;
  ReferenceOptions options_;
  // What nothing needs after an operation, or after a run of a block.
  std::unordered_map<const mil::Operation*, std::vector<const mil::Var*>> last_uses_;
  std::unordered_map<const mil::Block*, std::vector<const mil::Var*>> block_ends_;
  // Constants and what constexpr ops make of them, computed when first used.
  mutable std::mutex mutex_;
  mutable std::unordered_map<const mil::Var*, TensorPtr> constants_;
};

}  // namespace pippin::engine
