#include "pippin/speech/whisperkit/split.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace pippin::speech {
namespace {

using mil::Operation;
using mil::Var;
using Vars = std::set<const Var*>;

template <typename Visit>
void for_each_var(const Operation& operation, const Visit& visit) {
  for (const auto& [name, argument] : operation.inputs()) {
    for (const mil::Binding& binding : argument) {
      if (Var* const* var = std::get_if<Var*>(&binding)) visit(*var);
    }
  }
  for (const auto& block : operation.blocks()) {
    for (const auto& nested : block->operations()) for_each_var(*nested, visit);
    for (Var* const var : block->outputs()) visit(var);
  }
}

// Results of operations on the input and constants alone.
Vars computed_from(const mil::Block& block, const Var* input) {
  Vars constants, computed;
  for (const auto& operation : block.operations()) {
    bool is_constant = operation->blocks().empty(), is_computed = is_constant, is_used = false;
    for_each_var(*operation, [&](const Var* var) {
      const bool own = var == input || computed.contains(var);
      is_constant = is_constant && constants.contains(var);
      is_computed = is_computed && (own || constants.contains(var));
      is_used = is_used || own;
    });
    if (!is_constant && !(is_computed && is_used)) continue;
    for (const auto& output : operation->outputs()) {
      (is_constant ? constants : computed).insert(output.get());
    }
  }
  return computed;
}

// Those that operations with other inputs need, in the order of the program. Empty if the input
// itself is among them, or if one is not an array of floats of a fixed shape.
std::vector<Var*> results_of(const mil::Block& block, const Var* input, const Vars& computed) {
  std::vector<Var*> results;
  bool is_split = true;
  const auto need = [&](Var* var) {
    if (var == input) is_split = false;
    if (!computed.contains(var) || std::find(results.begin(), results.end(), var) != results.end())
      return;
    results.push_back(var);
    const mil::ValueType& type = var->type;
    is_split = is_split && type.is_tensor() && type.is_static() && mil::is_float(type.data_type);
  };
  for (const auto& operation : block.operations()) {
    const auto& outputs = operation->outputs();
    const bool is_computed = std::any_of(outputs.begin(), outputs.end(), [&](const auto& output) {
      return computed.contains(output.get());
    });
    if (!is_computed) for_each_var(*operation, need);
  }
  for (Var* const var : block.outputs()) need(var);
  if (!is_split) results.clear();
  return results;
}

void drop_unused(mil::Function& function, mil::FunctionDescription& description) {
  mil::Block& block = function.block();
  Vars used(block.outputs().begin(), block.outputs().end());
  auto& operations = block.operations();
  for (auto at = operations.rbegin(); at != operations.rend(); ++at) {
    const auto& outputs = (*at)->outputs();
    if (std::none_of(outputs.begin(), outputs.end(),
                     [&](const auto& output) { return used.contains(output.get()); })) {
      at->reset();
      continue;
    }
    for_each_var(**at, [&](const Var* var) { used.insert(var); });
  }
  std::erase(operations, nullptr);
  std::erase_if(description.inputs, [&](const mil::Feature& feature) {
    const Var* const var = function.find_input(feature.name);
    return var != nullptr && !used.contains(var);
  });
  std::erase_if(function.inputs, [&](const auto& var) { return !used.contains(var.get()); });
}

mil::FunctionDescription& description_of(mil::Model& model) {
  const auto found =
      std::find_if(model.functions.begin(), model.functions.end(),
                   [&](const auto& function) { return function.name == model.default_function; });
  return *found;
}

mil::Feature feature_of(const Var& var) {
  return mil::array_feature(var.name, "", var.type.data_type, var.type.dims);
}

// The results of a model's function.
std::vector<Var*> find_results(mil::Model& model, const char* input) {
  mil::Function& function = model.program.function(model.default_function);
  const Var* const var = function.find_input(input);
  if (var == nullptr) return {};
  return results_of(function.block(), var, computed_from(function.block(), var));
}

void replace(Operation& operation, Var* old, Var* by) {
  for (auto& [name, argument] : operation.inputs()) {
    for (mil::Binding& binding : argument) {
      Var** const var = std::get_if<Var*>(&binding);
      if (var != nullptr && *var == old) *var = by;
    }
  }
  for (const auto& block : operation.blocks()) {
    for (const auto& nested : block->operations()) replace(*nested, old, by);
    std::replace(block->outputs().begin(), block->outputs().end(), old, by);
  }
}

}  // namespace

std::vector<std::string> split_at_input(mil::Model& once, mil::Model& each, const char* input) {
  const std::vector<Var*> results = find_results(once, input);
  std::vector<std::string> between;
  between.reserve(results.size());
  if (results.empty()) return between;
  mil::Function& first = once.program.function(once.default_function);
  mil::FunctionDescription& first_description = description_of(once);
  first.block().outputs() = results;
  first_description.outputs.clear();
  for (const Var* const var : results) {
    between.push_back(var->name);
    first_description.outputs.push_back(feature_of(*var));
  }
  drop_unused(first, first_description);

  mil::Function& second = each.program.function(each.default_function);
  mil::FunctionDescription& second_description = description_of(each);
  for (Var* const var : find_results(each, input)) {
    Var* const given = second.add_input(var->name, var->type);
    for (const auto& operation : second.block().operations()) replace(*operation, var, given);
    second_description.inputs.push_back(feature_of(*var));
  }
  drop_unused(second, second_description);
  // They are no longer what their file holds.
  once.path.clear();
  each.path.clear();
  return between;
}

}  // namespace pippin::speech
