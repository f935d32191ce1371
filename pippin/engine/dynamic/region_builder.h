// Cuts a region out of a block and plans it for the current values.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "pippin/engine/dynamic/run_value.h"
#include "pippin/engine/planning/planning.h"

namespace pippin::engine {

// The readers of each value in a function.
class Uses {
 public:
  explicit Uses(const mil::Function& function);
  // Whether an operation other than `operations` reads a value.
  bool outside(const mil::Var* var,
               const std::unordered_set<const mil::Operation*>& operations) const;

 private:
  void add(const mil::Block& block);
  std::unordered_map<const mil::Var*, std::vector<const mil::Operation*>> users_;
  std::unordered_set<const mil::Var*> block_outputs_;
};

// A planned region and the values that it was planned for.
struct PlannedRegion {
  struct Input {
    const mil::Var* var;
    std::vector<int64_t> shape;
    std::optional<std::vector<int64_t>> numbers;  // the plan is for these elements only
    bool position = false;  // small integers that are symbols of the plan: none may be negative
  };
  std::vector<Input> inputs;
  std::vector<const mil::Var*> outputs;
  std::shared_ptr<const Plan> plan;  // null: nothing to run
  size_t stop = 0;                   // the operation after the last of the region

  bool fits(const std::function<const RunValue&(const mil::Var*)>& value_of) const;
};

struct RegionRequest {
  const mil::Block& block;
  size_t start;
  mil::Opset opset;
  const ComputeOptions& compute;
  const Uses& uses;
  int64_t max_elements;
  // Plan for the numbers of every small integer input: for values that symbols cannot describe (a
  // begin beyond the end, which counts as the end).
  bool numbers_only = false;
  std::function<const RunValue&(const mil::Var*)> value_of;
};

// Whether an operation cannot be part of a plan: nested blocks, lists, strings.
bool needs_interpreter(const mil::Operation& operation);
// Inference data of a current value. `numbers`: includes the elements of integers.
mil::ValueInfo info_of_value(const RunValue& value, bool numbers);

// Returns nothing if the operation at `start` cannot be planned. Throws InvalidFile, LimitExceeded.
std::unique_ptr<PlannedRegion> build_region(const RegionRequest& request);

}  // namespace pippin::engine
