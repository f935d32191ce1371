#include "pippin/mil/program.h"

#include <fmt/format.h>

#include "pippin/base/error.h"

namespace pippin::mil {

const Argument* Operation::find_input(std::string_view parameter) const {
  const auto it = inputs_.find(parameter);
  return it == inputs_.end() ? nullptr : &it->second;
}

Var* Operation::input_var(std::string_view parameter) const {
  const Argument* argument = find_input(parameter);
  if (argument == nullptr || argument->size() != 1) return nullptr;
  Var* const* var = std::get_if<Var*>(&argument->front());
  return var == nullptr ? nullptr : *var;
}

const Value* Operation::constant_input(std::string_view parameter) const {
  const Argument* argument = find_input(parameter);
  if (argument == nullptr || argument->size() != 1) return nullptr;
  if (const Value* literal = std::get_if<Value>(&argument->front())) return literal;
  return constant_of(std::get<Var*>(argument->front()));
}

Var* Operation::add_output(std::string name, ValueType type) {
  outputs_.push_back(std::make_unique<Var>(Var{std::move(name), std::move(type), this}));
  return outputs_.back().get();
}

const Value* Operation::constant_value() const {
  if (type_ != "const") return nullptr;
  const auto it = attributes_.find("val");
  return it == attributes_.end() ? nullptr : &it->second;
}

const Value* constant_of(const Var* var) {
  return var != nullptr && var->producer != nullptr ? var->producer->constant_value() : nullptr;
}

Var* Block::add_input(std::string name, ValueType type) {
  inputs_.push_back(std::make_unique<Var>(Var{std::move(name), std::move(type)}));
  return inputs_.back().get();
}

Operation& Block::append(std::string type) {
  operations_.push_back(std::make_unique<Operation>(std::move(type)));
  return *operations_.back();
}

std::string_view to_string(Opset opset) {
  switch (opset) {
    case Opset::CoreML5:
      return "CoreML5";
    case Opset::CoreML6:
      return "CoreML6";
    case Opset::CoreML7:
      return "CoreML7";
    case Opset::CoreML8:
      return "CoreML8";
    case Opset::CoreML9:
      return "CoreML9";
  }
  return "CoreML?";
}

std::optional<Opset> parse_opset(std::string_view name) {
  for (int number = 5; number <= 9; ++number) {
    const auto opset = static_cast<Opset>(number);
    if (to_string(opset) == name) return opset;
  }
  return std::nullopt;
}

int specification_version(Opset opset) {
  return static_cast<int>(opset) + 1;
}

Var* Function::add_input(std::string name, ValueType type) {
  inputs.push_back(std::make_unique<Var>(Var{std::move(name), std::move(type)}));
  return inputs.back().get();
}

Var* Function::find_input(std::string_view name) const {
  for (const auto& input : inputs) {
    if (input->name == name) return input.get();
  }
  return nullptr;
}

const Block& Function::block() const {
  const auto it = specializations.find(opset);
  if (it == specializations.end()) {
    fail(ErrorCode::InvalidFile, "the function has no block for its opset '{}'", opset);
  }
  return *it->second;
}

Block& Function::block() {
  return const_cast<Block&>(std::as_const(*this).block());
}

Opset Function::opset_version() const {
  const auto parsed = parse_opset(opset);
  if (!parsed) fail(ErrorCode::Unsupported, "opset '{}' is not one of CoreML5 to CoreML9", opset);
  return *parsed;
}

const Function& Program::function(std::string_view name) const {
  const auto it = functions.find(name);
  if (it == functions.end()) {
    std::string names;
    for (const auto& [existing, unused] : functions)
      names += (names.empty() ? "" : ", ") + existing;
    fail(ErrorCode::NotFound, "no function '{}'; the program has: {}", name, names);
  }
  return *it->second;
}

Function& Program::function(std::string_view name) {
  return const_cast<Function&>(std::as_const(*this).function(name));
}

}  // namespace pippin::mil
