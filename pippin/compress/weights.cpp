#include "pippin/compress/weights.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace pippin::compress {
namespace {

using mil::Binding;
using mil::Block;
using mil::Operation;
using mil::Var;

struct Axes {
  size_t channel, input;
};

bool flag(const Operation& operation, std::string_view parameter) {
  const mil::Value* value = operation.constant_input(parameter);
  return value != nullptr && !value->to_ints().empty() && value->to_ints()[0] != 0;
}

// The letters of operand `index` of "ab,bc->ac": the input axis is summed over, the channel axis is
// the operand's own.
Axes einsum_axes(const Operation& operation, size_t index, size_t rank) {
  Axes axes = {0, rank - 1};
  const mil::Value* value = operation.constant_input("equation");
  if (value == nullptr) return axes;
  const std::string& equation = value->to_string_value();
  const size_t comma = equation.find(','), arrow = equation.find("->");
  if (comma == equation.npos || arrow == equation.npos || arrow < comma) return axes;
  const std::string own =
      index == 0 ? equation.substr(0, comma) : equation.substr(comma + 1, arrow - comma - 1);
  const std::string other =
      index == 0 ? equation.substr(comma + 1, arrow - comma - 1) : equation.substr(0, comma);
  const std::string result = equation.substr(arrow + 2);
  if (own.size() != rank) return axes;
  for (size_t i = 0; i < rank; ++i) {
    if (result.find(own[i]) == result.npos) {
      axes.input = i;
    } else if (other.find(own[i]) == other.npos) {
      axes.channel = i;
    }
  }
  return axes.channel == axes.input ? Axes{0, rank - 1} : axes;
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
    const std::string& type = operation.type();
    if (type == "linear" || type == "conv") {
      add(operation, "weight", {0, 1});
    } else if (type == "conv_transpose") {
      add(operation, "weight", {1, 0});
    } else if (type == "matmul") {
      add_matmul(operation, "x", !flag(operation, "transpose_x"));
      add_matmul(operation, "y", flag(operation, "transpose_y"));
    } else if (type == "gather") {
      // Rows of a matrix; tables of positions have more axes, and stay as they are.
      const Var* var = operation.input_var("x");
      const mil::Value* axis = operation.constant_input("axis");
      const bool rows = axis == nullptr || axis->to_ints() == std::vector<int64_t>{0};
      if (var != nullptr && rows && var->type.dims.size() == 2) add(operation, var, {0, 1}, true);
    } else if (type == "einsum") {
      const mil::Argument* values = operation.find_input("values");
      for (size_t i = 0; values != nullptr && i < values->size(); ++i) {
        Var* const* var = std::get_if<Var*>(&(*values)[i]);
        if (var == nullptr || (*var)->type.dims.size() < 2) continue;
        add(operation, *var, einsum_axes(operation, i, (*var)->type.dims.size()), false);
      }
    }
  }

  // The axis that is summed over is the last one or the one before it.
  void add_matmul(const Operation& operation, std::string_view parameter, bool sums_last) {
    const Var* var = operation.input_var(parameter);
    if (var == nullptr || var->type.dims.size() < 2) return;
    const size_t last = var->type.dims.size() - 1;
    add(operation, var, sums_last ? Axes{last - 1, last} : Axes{last, last - 1}, false);
  }

  void add(const Operation& operation, std::string_view parameter, Axes axes) {
    if (const Var* var = operation.input_var(parameter)) add(operation, var, axes, false);
  }

  void add(const Operation& user, const Var* var, Axes axes, bool is_table) {
    const mil::Value* value = mil::constant_of(var);
    if (value == nullptr || !value->type.is_static() || value->type.dims.size() < 2) return;
    const mil::DataType type = value->type.data_type;
    if (type != mil::DataType::Float16 && type != mil::DataType::Float32) return;
    users_[&user].push_back(var);
    const auto [place, is_new] = index_.emplace(var, weights_.size());
    if (is_new) {
      weights_.push_back({var->producer, axes.channel, axes.input, is_table, false});
    } else if (is_table) {
      weights_[place->second].is_table = true;
    }
  }

  // Marks the weights of the first operations with weights on every way back from `var`.
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
