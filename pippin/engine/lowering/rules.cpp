#include "pippin/engine/lowering/rules.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/engine/lowering/builder.h"
#include "pippin/engine/lowering/reference_step.h"
#include "pippin/mil/ops/op.h"

namespace pippin::engine {
namespace {

const Rules& rules() {
  static const Rules table = [] {
    Rules rules;
    for (AddRules* add :
         {add_attention_rules, add_choice_rules,       add_conv_rules,   add_conv_transpose_rules,
          add_dot_rules,       add_elementwise_rules,  add_gather_rules, add_map_rules,
          add_move_rules,      add_norm_rules,         add_pool_rules,   add_recurrent_rules,
          add_reduction_rules, add_quantization_rules, add_resize_rules, add_row_rules,
          add_sample_rules,    add_scan_rules,         add_shape_rules,  add_spatial_rules,
          add_state_rules,     add_suppression_rules}) {
      add(rules);
    }
    return rules;
  }();
  return table;
}

const mil::Parameter* find_parameter(const Builder& builder, const mil::Operation& operation,
                                     std::string_view name) {
  const mil::OpDef* op = mil::find_op(operation.type(), builder.opset());
  if (op == nullptr) return nullptr;
  for (const mil::Parameter& parameter : op->parameters) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

mil::DefaultValue default_of(const Builder& builder, const mil::Operation& operation,
                             std::string_view name) {
  const mil::Parameter* parameter = find_parameter(builder, operation, name);
  if (parameter == nullptr || std::holds_alternative<std::monostate>(parameter->default_value)) {
    fail(ErrorCode::InvalidFile, "{}: parameter '{}' is missing", builder.where(operation), name);
  }
  return parameter->default_value;
}

// The elements of a parameter that is constant or known from shapes.
std::optional<double> known_number(const Builder& builder, const mil::Operation& operation,
                                   std::string_view name) {
  if (operation.find_input(name) == nullptr) return std::nullopt;
  if (const mil::Value* value = operation.constant_input(name)) {
    const auto numbers = value->to_doubles();
    if (numbers.size() == 1) return numbers[0];
  } else if (const mil::Var* var = operation.input_var(name)) {
    const auto& elements = builder.info(var).elements;
    if (elements && elements->size() == 1 && elements->front().is_constant()) {
      return static_cast<double>(elements->front().constant());
    }
  }
  fail(ErrorCode::Unsupported, "{}: parameter '{}' must be one constant number",
       builder.where(operation), name);
}

}  // namespace

int64_t int_param(const Builder& builder, const mil::Operation& operation, std::string_view name) {
  if (const auto number = known_number(builder, operation, name))
    return static_cast<int64_t>(*number);
  const auto value = default_of(builder, operation, name);
  return std::holds_alternative<int64_t>(value) ? std::get<int64_t>(value) : 0;
}

double float_param(const Builder& builder, const mil::Operation& operation, std::string_view name) {
  if (const auto number = known_number(builder, operation, name)) return *number;
  const auto value = default_of(builder, operation, name);
  if (std::holds_alternative<int64_t>(value)) return static_cast<double>(std::get<int64_t>(value));
  return std::holds_alternative<double>(value) ? std::get<double>(value) : 0;
}

bool bool_param(const Builder& builder, const mil::Operation& operation, std::string_view name) {
  if (const auto number = known_number(builder, operation, name)) return *number != 0;
  const auto value = default_of(builder, operation, name);
  return std::holds_alternative<bool>(value) && std::get<bool>(value);
}

std::string string_param(const Builder& builder, const mil::Operation& operation,
                         std::string_view name) {
  if (const mil::Value* value = operation.constant_input(name)) return value->to_string_value();
  const auto value = default_of(builder, operation, name);
  return std::holds_alternative<std::string_view>(value)
             ? std::string(std::get<std::string_view>(value))
             : "";
}

std::vector<int64_t> ints_param(const Builder& builder, const mil::Operation& operation,
                                std::string_view name, std::vector<int64_t> absent) {
  if (operation.find_input(name) == nullptr) return absent;
  if (const mil::Value* value = operation.constant_input(name)) return value->to_ints();
  if (const mil::Var* var = operation.input_var(name)) {
    const auto& elements = builder.info(var).elements;
    if (elements && std::all_of(elements->begin(), elements->end(),
                                [](const mil::Dim& element) { return element.is_constant(); })) {
      std::vector<int64_t> values;
      for (const mil::Dim& element : *elements) values.push_back(element.constant());
      return values;
    }
  }
  fail(ErrorCode::Unsupported, "{}: '{}' must be constant", builder.where(operation), name);
}

int64_t normalize_axis(int64_t axis, int64_t rank) {
  return axis < 0 ? axis + rank : axis;
}

Rule find_rule(std::string_view type) {
  const auto found = rules().find(type);
  return found == rules().end() ? nullptr : found->second;
}

void lower_plainly(Builder& builder, const mil::Operation& operation) {
  const Rule rule = find_rule(operation.type());
  if (rule == nullptr) {
    lower_to_reference(builder, operation);
    return;
  }
  try {
    rule(builder, operation);
  } catch (const Error& error) {
    // A rule rejects cases that its kernels do not support (element types, batch_dims, a begin that
    // depends on data).
    if (error.code() != ErrorCode::Unsupported ||
        !mil::find_op(operation.type(), builder.opset())->pure)
      throw;
    log_debug("{}", error.what());
    lower_to_reference(builder, operation);
  }
}

}  // namespace pippin::engine
