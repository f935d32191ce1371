#include "pippin/array/builder.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "pippin/array/node.h"
#include "pippin/base/error.h"

namespace pippin::array {
namespace {

thread_local Builder* current_builder = nullptr;

// Shared constants are named after their value, others after their operation.
std::string literal_name(const mil::Value& value, const std::string& operation,
                         const std::string& parameter) {
  const mil::ValueType& type = value.type;
  if (type.is_tensor() && type.dims.empty()) {
    const std::string prefix(mil::to_string(type.data_type));
    if (type.data_type == mil::DataType::String) return to_identifier("string_" + value.strings[0]);
    if (type.data_type == mil::DataType::Bool) {
      return value.to_ints()[0] != 0 ? "bool_true" : "bool_false";
    }
    if (mil::is_integer(type.data_type)) {
      const int64_t number = value.to_ints()[0];
      return prefix + (number < 0 ? "_minus_" : "_") + std::to_string(std::abs(number));
    }
  }
  return operation + "_" + parameter + "_0";
}

// Converts the nodes that a function needs to its operations.
class Emitter {
 public:
  explicit Emitter(mil::Function& function) : function_(function), block_(function.block()) {}

  void reserve(const std::string& name) {
    if (!names_.insert(name).second) {
      fail(ErrorCode::InvalidArgument, "two inputs or outputs are called '{}'", name);
    }
  }

  void add_input(const Node& node) {
    vars_[node.input.get()] = function_.add_input(node.input->name, node.input->type);
  }

  // `fixed` has the names of the interface's outputs.
  void add(const Node& node, const std::unordered_map<const mil::Var*, std::string>& fixed) {
    if (node.is_constant()) return;  // emitted before the first use
    const mil::Operation& source = *node.operation;

    // Reserve the name first, because constants are named after their operation.
    std::vector<std::string> output_names;
    for (size_t i = 0; i < source.outputs().size(); ++i) {
      const auto given = fixed.find(source.output(i));
      const std::string suffix =
          source.outputs().size() > 1 ? "_" + std::to_string(i) : std::string();
      output_names.push_back(given != fixed.end() ? given->second : unique(node.name + suffix));
    }
    const std::string name = output_names.empty() ? unique(node.name) : output_names[0];

    auto operation = std::make_unique<mil::Operation>(source.type());
    operation->attributes().emplace("name", mil::Value::of_string(name));
    for (const auto& [parameter, argument] : source.inputs()) {
      mil::Argument& copy = operation->inputs()[parameter];
      for (size_t i = 0; i < argument.size(); ++i) {
        if (mil::Var* const* var = std::get_if<mil::Var*>(&argument[i])) {
          copy.emplace_back(resolve(*var));
        } else {
          const mil::Value& value = std::get<mil::Value>(argument[i]);
          copy.emplace_back(literal(value, literal_name(value, name, parameter)));
        }
      }
    }
    for (size_t i = 0; i < source.outputs().size(); ++i) {
      vars_[source.output(i)] = operation->add_output(output_names[i], source.output(i)->type);
    }
    block_.operations().push_back(std::move(operation));
  }

  mil::Var* at(const mil::Var* var) { return resolve(var); }

 private:
  // Returns the function's Var for a node's Var; emits constants on demand.
  mil::Var* resolve(const mil::Var* var) {
    const auto found = vars_.find(var);
    if (found != vars_.end()) return found->second;
    const mil::Value* value = mil::constant_of(var);
    return vars_[var] = literal(*value, var->name);
  }

  mil::Var* literal(const mil::Value& value, const std::string& name) {
    constexpr size_t kShareUpTo = size_t{1} << 20;
    const bool share = value.source == nullptr && value.bytes.size() <= kShareUpTo;
    std::string key;
    if (share) {
      key = mil::to_string(value.type) + ":";
      key.append(as_text(value.bytes));
      for (const std::string& text : value.strings) key.append(text).push_back('\0');
      const auto found = shared_.find(key);
      if (found != shared_.end()) return found->second;
    }
    mil::Operation& operation = block_.append("const");
    const std::string taken = unique(name);
    operation.attributes().emplace("name", mil::Value::of_string(taken));
    operation.attributes().emplace("val", value);
    mil::Var* var = operation.add_output(taken, value.type);
    if (share) shared_.emplace(std::move(key), var);
    return var;
  }

  std::string unique(const std::string& name) {
    std::string candidate = name;
    for (int& count = counts_[name]; !names_.insert(candidate).second;) {
      candidate = name + "_" + std::to_string(++count);
    }
    return candidate;
  }

  mil::Function& function_;
  mil::Block& block_;
  std::unordered_map<const mil::Var*, mil::Var*> vars_;
  std::map<std::string, mil::Var*> shared_;
  std::set<std::string> names_;
  std::map<std::string, int> counts_;
};

}  // namespace

Builder::Builder(mil::Opset opset) : opset_(opset), previous_(current_builder) {
  current_builder = this;
}
Builder::~Builder() {
  current_builder = previous_;
}

Builder& Builder::current() {
  if (current_builder == nullptr) {
    fail(ErrorCode::InvalidArgument, "nothing is being recorded: no array::Builder");
  }
  return *current_builder;
}
Builder* Builder::current_or_null() {
  return current_builder;
}

Array Builder::input(std::string_view name, mil::DataType type, mil::Shape shape) {
  auto node = std::make_shared<Node>();
  node->name = name;
  mil::ValueInfo info;
  info.type = type;
  info.shape = std::move(shape);
  node->input = std::make_unique<mil::Var>();
  node->input->name = name;
  node->input->type = declared_type(info);
  node->infos.push_back(std::move(info));
  inputs_.push_back(node);
  return Array(node, 0);
}

State Builder::state(std::string_view name, mil::DataType type, std::vector<int64_t> dims) {
  auto node = std::make_shared<Node>();
  node->name = name;
  mil::ValueInfo info;
  info.kind = mil::ValueType::Kind::State;
  info.type = type;
  info.shape = mil::to_shape(dims);
  node->input = std::make_unique<mil::Var>();
  node->input->name = name;
  node->input->type = mil::ValueType::state(mil::ValueType::tensor(type, std::move(dims)));
  node->infos.push_back(std::move(info));
  inputs_.push_back(node);
  return State(node);
}

void Builder::output(std::string_view name, const Array& value) {
  outputs_.emplace_back(std::string(name), value);
}

void write_state(const State& state, const Array& value) {
  Builder& builder = Builder::current();
  builder.effects_.push_back(record_node("write_state", {{"input", state}, {"data", value}}));
}

std::unique_ptr<mil::Function> Builder::build() const {
  auto function = std::make_unique<mil::Function>();
  function->opset = std::string(mil::to_string(opset_));
  function->specializations.emplace(function->opset, std::make_unique<mil::Block>());

  // An input, a constant, or a value that is already an output, cannot be an output itself.
  std::vector<std::pair<std::string, Array>> outputs;
  std::unordered_map<const mil::Var*, std::string> fixed;
  for (const auto& [name, value] : outputs_) {
    const mil::Var* var = value.node()->output(value.index());
    const bool direct = value.node()->input == nullptr && !value.node()->is_constant() &&
                        fixed.find(var) == fixed.end();
    outputs.emplace_back(name, direct ? value : record_one("identity", {{"x", value}}));
    const Array& last = outputs.back().second;
    fixed.emplace(last.node()->output(last.index()), name);
  }

  std::vector<const Node*> needed;
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> pending;
  const auto visit = [&](const NodePtr& node) {
    if (seen.insert(node.get()).second) pending.push_back(node.get());
  };
  for (const auto& [name, value] : outputs) visit(value.node());
  for (const NodePtr& effect : effects_) visit(effect);
  while (!pending.empty()) {
    const Node* node = pending.back();
    pending.pop_back();
    if (node->operation != nullptr) needed.push_back(node);
    for (const NodePtr& operand : node->operands) visit(operand);
  }
  std::sort(needed.begin(), needed.end(),
            [](const Node* a, const Node* b) { return a->sequence < b->sequence; });

  Emitter emitter(*function);
  for (const NodePtr& input : inputs_) {
    emitter.reserve(input->input->name);
    emitter.add_input(*input);
    seen.erase(input.get());
  }
  for (const Node* node : seen) {
    if (node->input != nullptr) {
      fail(ErrorCode::InvalidArgument, "'{}' is an input of another function", node->input->name);
    }
  }
  for (const auto& [name, value] : outputs) emitter.reserve(name);
  for (const Node* node : needed) emitter.add(*node, fixed);
  for (const auto& [name, value] : outputs) {
    function->block().outputs().push_back(emitter.at(value.node()->output(value.index())));
  }
  return function;
}

}  // namespace pippin::array
