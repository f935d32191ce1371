#include "pippin/array/array.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cmath>
#include <limits>

#include "pippin/array/builder.h"
#include "pippin/array/node.h"
#include "pippin/base/error.h"
#include "pippin/mil/check/infer.h"

namespace pippin::array {
namespace {

std::string& scope_path() {
  thread_local std::string path;
  return path;
}

std::string scoped_name(std::string_view name) {
  const std::string scope = to_identifier(scope_path());
  if (scope.empty()) return to_identifier(name);
  return name.empty() ? scope : scope + "_" + to_identifier(name);
}

mil::Value int32_vector(const std::vector<int64_t>& values) {
  std::vector<int32_t> narrow;
  narrow.reserve(values.size());
  for (const int64_t value : values) {
    if (value < std::numeric_limits<int32_t>::min() ||
        value > std::numeric_limits<int32_t>::max()) {
      fail(ErrorCode::InvalidArgument, "{} does not fit an int32", value);
    }
    narrow.push_back(static_cast<int32_t>(value));
  }
  return mil::Value::of_int32s(narrow);
}

// Returns a default of the op table as a constant. Floats take the type of `x`, except those
// (rsqrt's 1e-12) that fp16 would round to 0: Core ML allows fp32 there, and coremltools writes it.
mil::Value default_literal(const mil::DefaultValue& value, const mil::ValueInfo* x) {
  if (const bool* flag = std::get_if<bool>(&value)) return mil::Value::of_bool(*flag);
  if (const int64_t* number = std::get_if<int64_t>(&value)) {
    return mil::Value::of_int32(static_cast<int32_t>(*number));
  }
  if (const double* number = std::get_if<double>(&value)) {
    constexpr double kSmallestNormalHalf = 0x1p-14;
    const bool tiny = *number != 0 && std::abs(*number) < kSmallestNormalHalf;
    const bool follows = x != nullptr && mil::is_float(x->type) && !tiny;
    return mil::Value::of_float(follows ? x->type : mil::DataType::Float32, *number);
  }
  return mil::Value::of_string(std::string(std::get<std::string_view>(value)));
}

}  // namespace

Node::Node() {
  static std::atomic<uint64_t> next{1};
  sequence = next.fetch_add(1);
}

mil::ValueType declared_type(const mil::ValueInfo& info) {
  std::vector<int64_t> dims;
  for (const mil::Dim& dim : info.shape) {
    dims.push_back(dim.try_constant().value_or(mil::kUnknownDim));
  }
  return mil::ValueType::tensor(info.type, std::move(dims));
}

const mil::ValueInfo& Array::info() const {
  return node_->infos.at(index_);
}

const mil::Dim& Array::dim(int64_t axis) const {
  const int64_t position = axis < 0 ? axis + rank() : axis;
  if (position < 0 || position >= rank()) {
    fail(ErrorCode::InvalidArgument, "axis {} of an array of shape {}", axis,
         mil::to_string(shape()));
  }
  return shape()[static_cast<size_t>(position)];
}

const mil::ValueInfo& State::info() const {
  return node_->infos.at(0);
}

Param::Param(std::string_view name, const Array& value) : name_(name) {
  bound_.push_back({value.node(), value.index(), {}});
}
Param::Param(std::string_view name, const State& value) : name_(name) {
  bound_.push_back({value.node(), 0, {}});
}
Param::Param(std::string_view name, const std::vector<Array>& values) : name_(name) {
  for (const Array& value : values) bound_.push_back({value.node(), value.index(), {}});
}
Param::Param(std::string_view name, mil::Value value) : name_(name) {
  bound_.push_back({nullptr, 0, std::move(value)});
}
Param::Param(std::string_view name, bool value) : Param(name, mil::Value::of_bool(value)) {}
Param::Param(std::string_view name, int64_t value) : name_(name) {
  mil::Value literal = int32_vector({value});
  literal.type.dims.clear();
  bound_.push_back({nullptr, 0, std::move(literal)});
}
Param::Param(std::string_view name, const char* value)
    : Param(name, mil::Value::of_string(value)) {}
Param::Param(std::string_view name, std::string_view value)
    : Param(name, mil::Value::of_string(std::string(value))) {}
Param::Param(std::string_view name, const std::vector<int64_t>& values)
    : Param(name, int32_vector(values)) {}
Param::Param(std::string_view name, const std::vector<bool>& values)
    : Param(name, mil::Value::of_bools(values)) {}

NodePtr record_node(std::string_view op, std::vector<Param> params) {
  const Builder* builder = Builder::current_or_null();
  const mil::Opset opset = builder != nullptr ? builder->opset() : mil::Opset::CoreML8;
  const mil::OpDef* definition = mil::find_op(op, opset);
  if (definition == nullptr) {
    fail(ErrorCode::InvalidArgument, "the op table has no '{}' for {}", op, mil::to_string(opset));
  }

  auto node = std::make_shared<Node>();
  node->name = scoped_name(op);
  node->operation = std::make_unique<mil::Operation>(std::string(op));
  mil::Operation& operation = *node->operation;
  operation.attributes().emplace("name", mil::Value::of_string(node->name));

  std::vector<std::pair<const mil::Var*, const mil::ValueInfo*>> known;
  const mil::ValueInfo* x = nullptr;
  for (Param& param : params) {
    mil::Argument& argument = operation.inputs()[param.name_];
    for (Param::Bound& bound : param.bound_) {
      if (bound.node == nullptr) {
        argument.emplace_back(std::move(bound.literal));
        continue;
      }
      mil::Var* var = bound.node->output(bound.index);
      known.emplace_back(var, &bound.node->infos.at(bound.index));
      if (param.name_ == "x") x = known.back().second;
      argument.emplace_back(var);
      node->operands.push_back(std::move(bound.node));
    }
  }
  for (const mil::Parameter& parameter : definition->parameters) {
    const bool has_default = !std::holds_alternative<std::monostate>(parameter.default_value);
    if (has_default && operation.find_input(parameter.name) == nullptr) {
      operation.inputs()[std::string(parameter.name)].emplace_back(
          default_literal(parameter.default_value, x));
    }
  }

  // Conditions that only a run can decide (such as: past is not negative) are checked during
  // planning, which applies the same rules again.
  std::vector<mil::Constraint> constraints;
  const auto info_of = [&](const mil::Var* var) -> const mil::ValueInfo& {
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const auto& entry) { return entry.first == var; });
    return *found->second;
  };
  // Programs with weights in a bf16 checkpoint's type are run but never written.
  const bool runs_only = std::any_of(known.begin(), known.end(), [](const auto& entry) {
    return entry.second->type == mil::DataType::BFloat16;
  });
  const mil::Purpose purpose = runs_only ? mil::Purpose::Run : mil::Purpose::Write;
  try {
    node->infos = mil::infer_operation(operation, opset, info_of, constraints, purpose);
  } catch (const Error& error) {
    const ErrorCode code =
        error.code() == ErrorCode::InvalidFile ? ErrorCode::InvalidArgument : error.code();
    fail(code, "{}", error.what());
  }

  for (const mil::ValueInfo& info : node->infos) {
    operation.add_output(node->name, declared_type(info));
  }
  return node;
}

std::vector<Array> record(std::string_view op, std::vector<Param> params) {
  const NodePtr node = record_node(op, std::move(params));
  std::vector<Array> outputs;
  for (size_t i = 0; i < node->infos.size(); ++i) outputs.emplace_back(node, i);
  return outputs;
}

Array record_one(std::string_view op, std::vector<Param> params) {
  return record(op, std::move(params)).at(0);
}

Array named(Array value, std::string_view name) {
  value.node()->name = scoped_name(name);
  return value;
}

Scope::Scope(std::string_view path) : previous_(std::move(scope_path())) {
  scope_path() = path;
}
Scope::~Scope() {
  scope_path() = std::move(previous_);
}
const std::string& Scope::current() {
  return scope_path();
}

std::string to_identifier(std::string_view path) {
  std::string result;
  for (const char c : path) {
    const bool allowed = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    result += allowed ? c : '_';
  }
  if (!result.empty() && std::isdigit(static_cast<unsigned char>(result[0])) != 0) {
    result.insert(0, 1, '_');
  }
  return result;
}

}  // namespace pippin::array
