#include "pippin/compress/weights.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "pippin/mil/ops/product.h"

namespace pippin::compress {
namespace {

using mil::Binding;
using mil::Block;
using mil::Operation;
using mil::Var;

// The axis of output channels and the one of inputs; the last ones if there are several.
struct Axes {
  size_t channel, input;
  std::vector<size_t> batch = {};
};

Axes axes_of(const mil::Product::Operand& operand) {
  const auto last = static_cast<size_t>(operand.rank() - 1);
  Axes axes = {0, last};
  if (!operand.summed.empty()) axes.input = static_cast<size_t>(operand.summed.back());
  if (!operand.own.empty()) axes.channel = static_cast<size_t>(operand.own.back());
  if (axes.channel == axes.input) return {0, last};
  for (const int64_t axis : operand.batch) axes.batch.push_back(static_cast<size_t>(axis));
  return axes;
}

// The matrices [experts, n, k] from which `var` is a token's selection, or `var` itself.
const Var* whole_of(const Var* var) {
  const Operation* gather = var->producer;
  if (gather == nullptr || gather->type() != "gather") return var;
  const Var *all = gather->input_var("x"), *indices = gather->input_var("indices");
  const mil::Value* axis = gather->constant_input("axis");
  const bool first = axis == nullptr || axis->to_ints() == std::vector<int64_t>{0};
  const bool chosen = first && all != nullptr && indices != nullptr && all->type.dims.size() == 3 &&
                      indices->type.dims.size() == 1;
  return chosen ? all : var;
}

class Finder {
 public:
  void visit(const Block& block) {
    for (const auto& operation : block.operations()) {
      visit(*operation);
      for (const auto& nested : operation->blocks()) visit(*nested);
    }
  }

  void mark_heads(const Block& block) {
    for (const Var* output : block.outputs()) {
      if (output->name.find("logits") != output->name.npos) walk_back(output);
    }
  }

  std::vector<Weight> take() { return std::move(weights_); }

 private:
  void visit(const Operation& operation) {
    if (const auto product = mil::product_of(operation)) {
      for (size_t i = product->of_peers ? 0 : 1; i < 2; ++i) {
        const mil::Product::Operand& operand = product->operands[i];
        if (operand.var() != nullptr && operand.rank() >= 2) {
          add(operation, whole_of(operand.var()), axes_of(operand), false);
        }
      }
    } else if (operation.type() == "gather") {
      // Rows of a matrix; tables of positions have more axes, and are kept.
      const Var* var = operation.input_var("x");
      const mil::Value* axis = operation.constant_input("axis");
      const bool rows = axis == nullptr || axis->to_ints() == std::vector<int64_t>{0};
      if (var != nullptr && rows && var->type.dims.size() == 2) add(operation, var, {0, 1}, true);
    }
  }

  void add(const Operation& user, const Var* var, const Axes& axes, bool is_table) {
    const mil::Value* value = mil::constant_of(var);
    if (value == nullptr || !value->type.is_static() || value->type.dims.size() < 2) return;
    const mil::DataType type = value->type.data_type;
    if (type != mil::DataType::Float16 && type != mil::DataType::Float32) return;
    users_[&user].push_back(var);
    const auto [place, is_new] = index_.emplace(var, weights_.size());
    if (is_new) {
      weights_.push_back({var->producer, axes.channel, axes.input, is_table, false, axes.batch});
    } else if (is_table) {
      weights_[place->second].is_table = true;
    }
  }

  // Marks the weights of the first operations with weights on every path back from `var`.
  void walk_back(const Var* var) {
    std::vector<const Var*> pending = {var};
    while (!pending.empty()) {
      const Operation* producer = pending.back()->producer;
      pending.pop_back();
      if (producer == nullptr || !seen_.insert(producer).second) continue;
      const auto user = users_.find(producer);
      if (user != users_.end() && producer->type() != "gather") {
        for (const Var* weight : user->second) weights_[index_.at(weight)].is_head = true;
        continue;
      }
      for (const auto& [parameter, argument] : producer->inputs()) {
        for (const Binding& binding : argument) {
          if (Var* const* input = std::get_if<Var*>(&binding)) pending.push_back(*input);
        }
      }
    }
  }

  std::vector<Weight> weights_;
  std::map<const Var*, size_t> index_;  // into weights_
  std::map<const Operation*, std::vector<const Var*>> users_;
  std::set<const Operation*> seen_;
};

}  // namespace

std::vector<Weight> find_weights(const Block& block) {
  Finder finder;
  finder.visit(block);
  finder.mark_heads(block);
  return finder.take();
}

}  // namespace pippin::compress
