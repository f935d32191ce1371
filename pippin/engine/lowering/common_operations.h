// Common subexpressions: an operation that another one before it computed already.
#pragma once

#include <unordered_map>
#include <vector>

#include "pippin/mil/check/infer.h"

namespace pippin::engine {

class CommonOperations {
 public:
  explicit CommonOperations(const mil::Inference& inference) : inference_(inference) {}

  // The operation before of the same type whose inputs are the same values, numbers or constants
  // (up to a few elements), and whose results those of `operation` are therefore; else null, and
  // the operation is remembered. For pure operations only.
  const mil::Operation* find_or_add(const mil::Operation& operation);

 private:
  const mil::Var* first_of(const mil::Var* var) const;
  bool same(const mil::Binding& a, const mil::Binding& b) const;
  bool same(const mil::Operation& a, const mil::Operation& b) const;

  const mil::Inference& inference_;
  std::unordered_map<const mil::Var*, const mil::Var*> first_;  // results found again
  std::unordered_map<const mil::Var*, std::vector<const mil::Operation*>> by_input_;
};

}  // namespace pippin::engine
