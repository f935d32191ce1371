// The reference interpreter: runs a program operation by operation with the value rules of the op
// table. Slow and simple; the oracle for all faster code.
//
// Every output is rounded to its declared type. Before a run, shapes are inferred from those of the
// inputs; after each operation the inferred types of its outputs are compared with the results, so
// that every run tests the shape rules as well. Values are freed after their last use.
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
  // A value of more elements is rejected with LimitExceeded,
  int64_t max_elements = int64_t{1} << 31;
  // and so is one that exceeds this limit together with all other live values, without constants,
  int64_t max_live_elements = int64_t{1} << 32;
  // and a loop iteration beyond this number, over all loops of the run.
  int64_t max_loop_turns = 10'000'000;
  // Also infers with symbols for the dimensions that the program leaves open, and compares their
  // values. Programs that need those sizes as numbers are then rejected.
  bool check_symbolic = false;
};

class ReferenceInterpreter {
 public:
  // The program must outlive the interpreter and not change. Throws NotFound.
  ReferenceInterpreter(const mil::Program& program, std::string_view function,
                       const ReferenceOptions& options = {});

  // Returns the outputs by name. Inputs are rounded to their declared types; [1] stands for a
  // scalar. Throws InvalidArgument for missing or unsuitable inputs, InvalidFile and Unsupported
  // like mil::infer, LimitExceeded, and Internal if a shape rule and its value rule disagree.
  std::map<std::string, mil::Tensor> run(const std::map<std::string, mil::Tensor>& inputs,
                                         ReferenceState& state) const;

 private:
  class Run;
  using TensorPtr = std::shared_ptr<const mil::Tensor>;

  void find_last_uses(const mil::Block& block);

  const mil::Function& function_;
  ReferenceOptions options_;
  // Values that are dead after an operation, or after a run of a block.
  std::unordered_map<const mil::Operation*, std::vector<const mil::Var*>> last_uses_;
  std::unordered_map<const mil::Block*, std::vector<const mil::Var*>> block_ends_;
  // Constants and the results of constexpr ops, computed on first use.
  mutable std::mutex mutex_;
  mutable std::unordered_map<const mil::Var*, TensorPtr> constants_;
};

}  // namespace pippin::engine
