// Common subexpressions: operations whose results an earlier operation has computed.
#pragma once

#include <unordered_map>
#include <vector>

#include "pippin/mil/check/infer.h"

namespace pippin::engine {

class CommonOperations {
 public:
  explicit CommonOperations(const mil::Inference& inference) : inference_(inference) {}

  // Returns the earlier operation of the same type with the same inputs (values, numbers, or
  // constants of a few elements), whose results are therefore those of `operation`. Otherwise null,
  // and the operation is remembered. For pure operations only.
  const mil::Operation* find_or_add(const mil::Operation& operation);

 private:
  const mil::Var* first_of(const mil::Var* var) const;
  bool same(const mil::Binding& a, const mil::Binding& b) const;
  bool same(const mil::Operation& a, const mil::Operation& b) const;

  const mil::Inference& inference_;
  std::unordered_map<const mil::Var*, const mil::Var*> first_;  // results of repeated operations
  std::unordered_map<const mil::Var*, std::vector<const mil::Operation*>> by_input_;
};

}  // namespace pippin::engine
