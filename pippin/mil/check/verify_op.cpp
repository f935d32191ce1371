#include "pippin/mil/check/verify_op.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/mil/ops/op.h"

namespace pippin::mil {
namespace {

const ValueType& type_of(const Binding& binding) {
  if (const Value* value = std::get_if<Value>(&binding)) return value->type;
  return std::get<Var*>(binding)->type;
}

void check_binding(const Parameter& parameter, const ValueType& type) {
  const bool wants_state = parameter.kind == Parameter::Kind::State;
  if (type.is_state() != wants_state) {
    fail(ErrorCode::InvalidFile, "parameter '{}' takes {} state, not a {}", parameter.name,
         wants_state ? "a" : "no", to_string(type));
  }
  if (!wants_state && !accepts(parameter, type.kind, type.data_type)) {
    fail(ErrorCode::InvalidFile, "parameter '{}' does not take a {}", parameter.name,
         to_string(type));
  }
}

// The entry with the smallest opset, for ops that the given opset does not have yet.
const OpDef* find_newer(std::string_view name) {
  const auto table = op_table();
  const auto it =
      std::find_if(table.begin(), table.end(), [&](const OpDef& def) { return def.name == name; });
  return it == table.end() ? nullptr : &*it;
}

}  // namespace

void verify_against_table(const Operation& operation, Opset opset) {
  const OpDef* def = find_op(operation.type(), opset);
  if (def == nullptr) {
    const OpDef* newer = find_newer(operation.type());
    if (newer == nullptr) return;
    fail(ErrorCode::InvalidFile, "needs opset {}, the function has {}", to_string(newer->since),
         to_string(opset));
  }
  for (const Parameter& parameter : def->parameters) {
    const BoundArgument bound = find_argument(operation, parameter.name);
    if (!bound && !parameter.optional) {
      fail(ErrorCode::InvalidFile, "parameter '{}' is missing", parameter.name);
    }
    if (bound.attribute != nullptr) check_binding(parameter, bound.attribute->type);
    if (bound.argument == nullptr) continue;
    if (parameter.kind != Parameter::Kind::Tuple && bound.argument->size() != 1) {
      fail(ErrorCode::InvalidFile, "parameter '{}' takes one value, not {}", parameter.name,
           bound.argument->size());
    }
    for (const Binding& binding : *bound.argument) check_binding(parameter, type_of(binding));
  }
  for (const auto& input : operation.inputs()) {
    const std::string& name = input.first;
    const auto known = [&](const Parameter& parameter) { return parameter.name == name; };
    if (std::none_of(def->parameters.begin(), def->parameters.end(), known)) {
      fail(ErrorCode::InvalidFile, "has no parameter '{}' in opset {}", name, to_string(opset));
    }
  }
  const size_t outputs = operation.outputs().size();
  if (def->num_outputs >= 0 && outputs != static_cast<size_t>(def->num_outputs)) {
    fail(ErrorCode::InvalidFile, "{} outputs, it has {}", outputs, def->num_outputs);
  }
}

}  // namespace pippin::mil
