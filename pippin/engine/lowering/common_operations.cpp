#include "pippin/engine/lowering/common_operations.h"

#include <algorithm>

namespace pippin::engine {

using mil::Operation;
using mil::Value;
using mil::Var;

namespace {

constexpr int64_t kFew = 64;         // elements of a constant that are compared
constexpr size_t kRemembered = 256;  // operations of one input

const Value* constant(const mil::Binding& binding) {
  if (const auto* value = std::get_if<Value>(&binding)) return value;
  return mil::constant_of(std::get<Var*>(binding));
}

// The first Var among the inputs that is not constant.
const Var* first_input(const Operation& operation) {
  for (const auto& [name, argument] : operation.inputs()) {
    for (const mil::Binding& binding : argument) {
      if (constant(binding) == nullptr) return std::get<Var*>(binding);
    }
  }
  return nullptr;
}

}  // namespace

const Var* CommonOperations::first_of(const Var* var) const {
  const auto found = first_.find(var);
  return found == first_.end() ? var : found->second;
}

bool CommonOperations::same(const mil::Binding& a, const mil::Binding& b) const {
  const Value* left = constant(a);
  const Value* right = constant(b);
  if (left != nullptr || right != nullptr) {
    if (left == right) return true;
    return left != nullptr && right != nullptr && left->type.is_tensor() &&
           left->type.num_elements() <= kFew && mil::equal(*left, *right);
  }
  const Var* x = first_of(std::get<Var*>(a));
  const Var* y = first_of(std::get<Var*>(b));
  if (x == y) return true;
  const auto p = inference_.values.find(x), q = inference_.values.find(y);
  const auto end = inference_.values.end();
  return p != end && q != end && p->second.elements && q->second.elements &&
         p->second.type == q->second.type && p->second.shape == q->second.shape &&
         *p->second.elements == *q->second.elements;
}

bool CommonOperations::same(const Operation& a, const Operation& b) const {
  if (a.type() != b.type() || a.inputs().size() != b.inputs().size() ||
      a.outputs().size() != b.outputs().size()) {
    return false;
  }
  for (size_t i = 0; i < a.outputs().size(); ++i) {
    if (inference_.of(a.output(i)).type != inference_.of(b.output(i)).type) return false;
  }
  return std::equal(a.inputs().begin(), a.inputs().end(), b.inputs().begin(),
                    [&](const auto& p, const auto& q) {
                      return p.first == q.first && p.second.size() == q.second.size() &&
                             std::equal(p.second.begin(), p.second.end(), q.second.begin(),
                                        [&](const auto& x, const auto& y) { return same(x, y); });
                    });
}

const Operation* CommonOperations::find_or_add(const Operation& operation) {
  const Var* input = first_input(operation);
  if (input == nullptr) return nullptr;
  auto& known = by_input_[first_of(input)];
  for (const Operation* earlier : known) {
    if (!same(*earlier, operation)) continue;
    for (size_t i = 0; i < operation.outputs().size(); ++i) {
      first_[operation.output(i)] = first_of(earlier->output(i));
    }
    return earlier;
  }
  if (known.size() < kRemembered) known.push_back(&operation);
  return nullptr;
}

}  // namespace pippin::engine
