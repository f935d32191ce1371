#include "pippin/app/open/hidden_output.h"

#include <string>

#include "pippin/base/error.h"
#include "pippin/families/stateful.h"
#include "pippin/mil/ops/op.h"
#include "pippin/mil/ops/product.h"

namespace pippin::app {
namespace {

using mil::Operation;
using mil::Trait;
using mil::Var;

// Known when the program is loaded: a literal, or computed from constants alone.
bool is_constant(const mil::Binding& binding) {
  const auto* var = std::get_if<Var*>(&binding);
  if (var == nullptr) return true;
  if ((*var)->producer == nullptr) return false;
  const mil::OpDef* op = mil::find_op((*var)->producer->type());
  if (op != nullptr && op->traits.has(Trait::Constant)) return true;
  // A weight that is converted or reshaped before its use.
  for (const auto& [name, argument] : (*var)->producer->inputs()) {
    for (const mil::Binding& input : argument) {
      if (!is_constant(input)) return false;
    }
  }
  return op != nullptr && (op->traits.has(Trait::Permutes) || op->traits.has(Trait::Converts));
}

// The only input that is not a constant; null if none or several exist.
Var* moving_input(const Operation& operation) {
  Var* found = nullptr;
  for (const auto& [name, argument] : operation.inputs()) {
    for (const mil::Binding& input : argument) {
      if (is_constant(input)) continue;
      Var* var = std::get<Var*>(input);
      if (found != nullptr && found != var) return nullptr;
      found = var;
    }
  }
  return found;
}

// The head's input, from which it computes `logits`; null if it cannot be determined.
Var* hidden_of(Var* logits) {
  for (Var* var = logits; var != nullptr && var->producer != nullptr;) {
    const Operation& operation = *var->producer;
    if (const auto product = mil::product_of(operation)) {
      const auto& [x, weight] = product->operands;
      if (is_constant(*weight.binding)) return std::get<Var*>(*x.binding);
      if (is_constant(*x.binding)) return std::get<Var*>(*weight.binding);
      return nullptr;
    }
    const mil::OpDef* op = mil::find_op(operation.type());
    if (op == nullptr) return nullptr;
    const auto& traits = op->traits;
    if (!traits.has(Trait::View) && !traits.has(Trait::Converts) &&
        !traits.has(Trait::Elementwise)) {
      return nullptr;
    }
    var = moving_input(operation);
  }
  return nullptr;
}

void add_output(mil::Function& function, mil::FunctionDescription& description, Var* hidden) {
  mil::Block& block = function.block();
  const std::string name = families::stateful::hidden(0);
  mil::ValueType type = hidden->type;
  type.data_type = mil::DataType::Float32;
  Operation& cast = block.append("cast");
  cast.inputs()["x"] = {hidden};
  cast.inputs()["dtype"] = {mil::Value::of_string("fp32")};
  block.outputs().push_back(cast.add_output(name, type));
  mil::Feature feature;
  feature.name = name;
  feature.description = "What the head multiplies";
  description.outputs.push_back(std::move(feature));
}

}  // namespace

void add_hidden_output(mil::Model& model) {
  model.path.clear();
  for (mil::FunctionDescription& description : model.functions) {
    mil::Function& function = model.program.function(description.name);
    Var* hidden = nullptr;
    for (Var* output : function.block().outputs()) {
      if (hidden == nullptr) hidden = hidden_of(output);
    }
    if (hidden == nullptr) {
      fail(ErrorCode::Unsupported,
           "function '{}': its logits are not a product with a constant: nothing to embed with",
           description.name);
    }
    add_output(function, description, hidden);
  }
}

}  // namespace pippin::app
