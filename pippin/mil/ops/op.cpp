#include "pippin/mil/ops/op.h"

#include <cmath>

namespace pippin::mil {
namespace {

int64_t to_integer(const OpContext& context, std::string_view parameter, double value) {
  if (value != std::trunc(value) || std::abs(value) > 0x1p53) {
    context.reject("{} must be an integer, not {}", parameter, value);
  }
  return static_cast<int64_t>(value);
}

}  // namespace

BoundArgument find_argument(const Operation& operation, std::string_view parameter) {
  if (const Argument* argument = operation.find_input(parameter)) return {argument, nullptr};
  if (has_trait(operation, Trait::Compressed)) {
    const auto it = operation.attributes().find(parameter);
    if (it != operation.attributes().end()) return {nullptr, &it->second};
  }
  return {};
}

bool has_trait(const Operation& operation, Trait trait) {
  const OpDef* def = find_op(operation.type());
  return def != nullptr && def->traits.has(trait);
}

bool is_product(const Operation& operation) {
  const OpDef* def = find_op(operation.type());
  return def != nullptr && def->product != nullptr;
}

bool is_float_cast(const Operation& operation) {
  const OpDef* def = find_op(operation.type());
  if (def == nullptr || !def->traits.has(Trait::Converts)) return false;
  const Var* x = operation.input_var("x");
  return x != nullptr &&
         (def->traits.has(Trait::View) ||
          (is_float(x->type.data_type) && is_float(operation.output()->type.data_type)));
}

bool accepts(const Parameter& parameter, ValueType::Kind kind, DataType type) {
  const auto takes = [&](char letter) {
    return parameter.types.find(letter) != parameter.types.npos;
  };
  if (kind == ValueType::Kind::State) return parameter.kind == Parameter::Kind::State;
  if (parameter.kind == Parameter::Kind::State) return false;
  if (kind == ValueType::Kind::List) return takes('l');
  if (kind != ValueType::Kind::Tensor) return false;
  if (is_float(type)) return takes('f');
  if (is_integer(type)) return takes('i');
  return takes(type == DataType::Bool ? 'b' : 's');
}

std::string OpContext::where() const {
  const auto it = operation_.attributes().find("name");
  std::string name;
  if (it != operation_.attributes().end() && it->second.strings.size() == 1) {
    name = it->second.strings[0];
  } else if (!operation_.outputs().empty()) {
    name = operation_.output()->name;
  }
  return fmt::format("{} '{}'", operation_.type(), name);
}

const DefaultValue& OpContext::default_of(std::string_view parameter) const {
  static const DefaultValue none;
  const OpDef* def = find_op(operation_.type(), opset_);
  if (def == nullptr) return none;
  for (const Parameter& candidate : def->parameters) {
    if (candidate.name == parameter) return candidate.default_value;
  }
  return none;
}

std::vector<double> OpContext::numbers(std::string_view parameter) const {
  if (auto known = known_numbers(parameter)) return std::move(*known);
  if (has(parameter)) reject("{} must be a constant", parameter);
  const DefaultValue& value = default_of(parameter);
  if (const auto* flag = std::get_if<bool>(&value)) return {*flag ? 1.0 : 0.0};
  if (const auto* integer = std::get_if<int64_t>(&value)) return {static_cast<double>(*integer)};
  if (const auto* real = std::get_if<double>(&value)) return {*real};
  reject("{} is missing", parameter);
}

double OpContext::number(std::string_view parameter) const {
  const std::vector<double> values = numbers(parameter);
  if (values.size() != 1) reject("{} has {} elements, needs one", parameter, values.size());
  return values[0];
}

int64_t OpContext::int_param(std::string_view parameter) const {
  return to_integer(*this, parameter, number(parameter));
}
double OpContext::float_param(std::string_view parameter) const {
  return number(parameter);
}
bool OpContext::bool_param(std::string_view parameter) const {
  return number(parameter) != 0;
}

std::string OpContext::string_param(std::string_view parameter) const {
  if (auto known = known_string(parameter)) return std::move(*known);
  if (has(parameter)) reject("{} must be a constant string", parameter);
  if (const auto* text = std::get_if<std::string_view>(&default_of(parameter))) {
    return std::string(*text);
  }
  reject("{} is missing", parameter);
}

std::vector<int64_t> OpContext::ints_param(std::string_view parameter) const {
  std::vector<int64_t> result;
  for (const double value : numbers(parameter)) {
    result.push_back(to_integer(*this, parameter, value));
  }
  return result;
}

std::vector<bool> OpContext::bools_param(std::string_view parameter) const {
  std::vector<bool> result;
  for (const double value : numbers(parameter)) result.push_back(value != 0);
  return result;
}

}  // namespace pippin::mil
