#include "pippin/mil/networks/graph.h"

#include <limits>

#include "pippin/base/error.h"
#include "pippin/mil/check/infer.h"
#include "pippin/mil/ops/rules.h"

namespace pippin::mil::networks {
namespace {

constexpr std::string_view dtype_name(DataType type) {
  switch (type) {
    case DataType::Bool:
      return "bool";
    case DataType::Int32:
      return "int32";
    case DataType::Float16:
      return "fp16";
    default:
      return "fp32";
  }
}

int32_t narrowed(int64_t value) {
  if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max()) {
    fail(ErrorCode::InvalidFile, "the number {} has more than 32 bits", value);
  }
  return static_cast<int32_t>(value);
}

}  // namespace

Graph::Graph(Function& function, Opset opset, std::set<std::string> reserved)
    : function_(function), opset_(opset), wanted_(opset), casts_(1), names_(std::move(reserved)) {
  function.opset = to_string(opset);
  auto block = std::make_unique<Block>();
  open_.push_back(block.get());
  function.specializations.emplace(function.opset, std::move(block));
}

Var* Graph::add_input(const std::string& name, ValueType type, ValueInfo info) {
  Var* var = function_.add_input(name, std::move(type));
  define(var, std::move(info));
  return var;
}

bool Graph::has_input(std::string_view name) const {
  return std::any_of(function_.inputs.begin(), function_.inputs.end(),
                     [&](const auto& input) { return input->name == name; });
}

Operation& Graph::append(std::string_view op, Arguments& arguments) {
  Operation& operation = open_.back()->append(std::string(op));
  for (auto& [parameter, argument] : arguments) {
    operation.inputs().emplace(parameter, std::move(argument));
  }
  return operation;
}

Var* Graph::add(std::string_view op, Arguments arguments, const std::string& name) {
  const std::vector<Var*> results = add_named(op, std::move(arguments), {name});
  if (results.size() != 1) fail(ErrorCode::Internal, "{} has {} results", op, results.size());
  return results.front();
}

std::vector<Var*> Graph::add_many(std::string_view op, Arguments arguments) {
  return add_named(op, std::move(arguments), {});
}

std::vector<Var*> Graph::add_named(std::string_view op, Arguments arguments,
                                   const std::vector<std::string>& names) {
  return add_outputs(append(op, arguments), names);
}

std::vector<Var*> Graph::add_outputs(Operation& operation, const std::vector<std::string>& names) {
  std::vector<Constraint> constraints;  // recomputed for each run
  std::vector<ValueInfo> infos = infer_operation(
      operation, opset_, [&](const Var* var) -> const ValueInfo& { return info(var); },
      constraints);
  std::vector<Var*> results;
  results.reserve(infos.size());
  for (size_t i = 0; i < infos.size(); ++i) {
    const bool named = i < names.size() && !names[i].empty();
    results.push_back(operation.add_output(named ? names[i] : free_name(operation.type()),
                                           declared_type(infos[i])));
    define(results.back(), std::move(infos[i]));
  }
  return results;
}

Var* Graph::add_constant(Value value) {
  Operation& operation = open_.back()->append("const");
  Var* var = operation.add_output(free_name("const"), value.type);
  const auto it = operation.attributes().emplace("val", std::move(value)).first;
  define(var, value_info(it->second));
  return var;
}

Var* Graph::add_constexpr(std::string_view op, Parameters parameters) {
  Operation& operation = open_.back()->append(std::string(op));
  for (auto& [name, value] : parameters) {
    if (opset_ < Opset::CoreML8) {
      operation.attributes().emplace(name, std::move(value));
    } else {
      operation.inputs()[std::string(name)].push_back(std::move(value));
    }
  }
  return add_outputs(operation, {}).front();
}

std::string Graph::free_name(std::string_view stem) {
  auto next = next_.find(stem);
  if (next == next_.end()) next = next_.emplace(stem, 0).first;
  for (;;) {
    std::string name = fmt::format("{}_{}", stem, next->second++);
    if (names_.insert(name).second) return name;
  }
}

Block* Graph::begin_block() {
  open_.push_back(unfinished_.emplace_back(std::make_unique<Block>()).get());
  casts_.emplace_back();
  return open_.back();
}

Var* Graph::add_block_input(std::string_view stem, ValueInfo info) {
  Var* var = open_.back()->add_input(free_name(stem), declared_type(info));
  define(var, std::move(info));
  return var;
}

std::unique_ptr<Block> Graph::end_block(std::vector<Var*> outputs) {
  std::unique_ptr<Block> block = std::move(unfinished_.back());
  unfinished_.pop_back();
  open_.pop_back();
  casts_.pop_back();
  block->outputs() = std::move(outputs);
  return block;
}

void Graph::reopen_block(std::unique_ptr<Block> block) {
  open_.push_back(unfinished_.emplace_back(std::move(block)).get());
  casts_.emplace_back();
}

std::vector<Var*> Graph::add_with_blocks(std::string_view op, Arguments arguments,
                                         std::vector<std::unique_ptr<Block>> blocks,
                                         std::vector<ValueInfo> results) {
  Operation& operation = append(op, arguments);
  operation.blocks() = std::move(blocks);
  std::vector<Var*> vars;
  vars.reserve(results.size());
  for (ValueInfo& result : results) {
    vars.push_back(operation.add_output(free_name(op), declared_type(result)));
    define(vars.back(), std::move(result));
  }
  return vars;
}

Var* Graph::cast(Var* var, DataType wanted) {
  if (type(var) == wanted) return var;
  for (const auto& casts : casts_) {
    const auto known = casts.find({var, wanted});
    if (known != casts.end()) return known->second;
  }
  // Casting a number back yields the original.
  const bool exact =
      var->producer != nullptr && var->producer->type() == "cast" && type(var) == DataType::Float32;
  Var* before = exact ? var->producer->input_var("x") : nullptr;
  Var* result =
      before != nullptr && type(before) == wanted
          ? before
          : add("cast", {{"x", {var}}, {"dtype", {text(std::string(dtype_name(wanted)))}}});
  casts_.back().emplace(std::pair(var, wanted), result);
  return result;
}

ValueType declared_type(const ValueInfo& info) {
  if (info.kind == ValueType::Kind::Dictionary) {
    ValueType dictionary;
    dictionary.kind = ValueType::Kind::Dictionary;
    dictionary.parameters = {ValueType::scalar(info.key_type), ValueType::scalar(info.type)};
    return dictionary;
  }
  std::vector<int64_t> dims;
  dims.reserve(info.shape.size());
  for (const Dim& dim : info.shape) dims.push_back(dim.try_constant().value_or(kUnknownDim));
  return ValueType::tensor(info.type, std::move(dims));
}

Value integer(int64_t value) {
  return Value::of_int32(narrowed(value));
}

Value integers(const std::vector<int64_t>& values) {
  std::vector<int32_t> narrow;
  narrow.reserve(values.size());
  for (const int64_t value : values) narrow.push_back(narrowed(value));
  return Value::of_int32s(narrow);
}

int64_t axis_of(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    fail(ErrorCode::InvalidFile, "axis {} of a tensor of rank {}", axis, rank);
  }
  return axis < 0 ? axis + rank : axis;
}

}  // namespace pippin::mil::networks
