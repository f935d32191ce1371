// The program: the only representation of a model in this project.
//
// A Program has functions; a Function has typed inputs (states among them) and one Block per opset;
// a Block is a list of Operations in the order of their effects; an Operation binds its parameters
// to Vars or literal Values and defines Vars. Vars are referred to by pointer inside a function and
// by name in files; a name is unique among the values visible at its position, while sibling blocks
// may reuse one. A program owns everything that it points to and is moved, not copied.
//
// It is read from protobuf or text (mil/package/package.h, mil/text/text.h), recorded by `array`,
// checked by mil/check/verify.h, and transformed by compress/compress.h. The ops themselves are
// described in mil/ops/op.h.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pippin/mil/type.h"
#include "pippin/mil/value.h"

namespace pippin::mil {

class Operation;
class Block;

// A named value: defined by an operation, or an input of a block or function.
struct Var {
  std::string name;
  ValueType type;
  Operation* producer = nullptr;  // null for inputs
};

// The binding of a parameter: a Var of an enclosing scope, or a literal.
using Binding = std::variant<Var*, Value>;

// One binding for most parameters, several for tuples (concat's `values`).
using Argument = std::vector<Binding>;

class Operation {
 public:
  explicit Operation(std::string type) : type_(std::move(type)) {}

  const std::string& type() const { return type_; }

  std::map<std::string, Argument, std::less<>>& inputs() { return inputs_; }
  const std::map<std::string, Argument, std::less<>>& inputs() const { return inputs_; }
  // The parameter's argument, or null if it is absent.
  const Argument* find_input(std::string_view parameter) const;
  // The Var that the parameter is bound to, or null (absent, literal or tuple).
  Var* input_var(std::string_view parameter) const;
  // The constant that the parameter is bound to: a literal or the output of a `const`; or null.
  const Value* constant_input(std::string_view parameter) const;

  // Stable addresses: other operations point to these.
  const std::vector<std::unique_ptr<Var>>& outputs() const { return outputs_; }
  Var* output(size_t index = 0) const { return outputs_.at(index).get(); }
  Var* add_output(std::string name, ValueType type);

  Attributes& attributes() { return attributes_; }
  const Attributes& attributes() const { return attributes_; }

  std::vector<std::unique_ptr<Block>>& blocks() { return blocks_; }
  const std::vector<std::unique_ptr<Block>>& blocks() const { return blocks_; }

  // The value of a `const` operation, or null for any other.
  const Value* constant_value() const;

 private:
  std::string type_;
  std::map<std::string, Argument, std::less<>> inputs_;
  std::vector<std::unique_ptr<Var>> outputs_;
  std::vector<std::unique_ptr<Block>> blocks_;
  Attributes attributes_;
};

// The value of the `const` that defines `var`, or null.
const Value* constant_of(const Var* var);

class Block {
 public:
  std::vector<std::unique_ptr<Var>>& inputs() { return inputs_; }
  const std::vector<std::unique_ptr<Var>>& inputs() const { return inputs_; }
  Var* add_input(std::string name, ValueType type);

  std::vector<std::unique_ptr<Operation>>& operations() { return operations_; }
  const std::vector<std::unique_ptr<Operation>>& operations() const { return operations_; }
  Operation& append(std::string type);

  std::vector<Var*>& outputs() { return outputs_; }
  const std::vector<Var*>& outputs() const { return outputs_; }

  Attributes& attributes() { return attributes_; }
  const Attributes& attributes() const { return attributes_; }

 private:
  std::vector<std::unique_ptr<Var>> inputs_;
  std::vector<std::unique_ptr<Operation>> operations_;
  std::vector<Var*> outputs_;
  Attributes attributes_;
};

// "CoreML5" (iOS15) to "CoreML9" (iOS26), in order.
enum class Opset : uint8_t { CoreML5 = 5, CoreML6, CoreML7, CoreML8, CoreML9 };
std::string_view to_string(Opset opset);
std::optional<Opset> parse_opset(std::string_view name);
// The model specification version that an opset needs: 6 for CoreML5 ... 10 for CoreML9.
int specification_version(Opset opset);

struct Function {
  std::vector<std::unique_ptr<Var>> inputs;  // in file order; states have a state type
  std::string opset;                         // key of the block that runs: "CoreML8"
  std::map<std::string, std::unique_ptr<Block>, std::less<>> specializations;
  Attributes attributes;

  Var* add_input(std::string name, ValueType type);
  Var* find_input(std::string_view name) const;
  // The block of `opset`. Throws InvalidFile if none exists.
  Block& block();
  const Block& block() const;
  // Throws Unsupported for an opset that Pippin does not know.
  Opset opset_version() const;
};

struct Program {
  int64_t version = 1;
  std::string doc_string;
  std::map<std::string, std::unique_ptr<Function>, std::less<>> functions;
  Attributes attributes;  // buildInfo

  // Throws NotFound, listing the functions.
  Function& function(std::string_view name);
  const Function& function(std::string_view name) const;
};

// Calls visit(operation) for every operation of the block and of the blocks nested in it, in order.
template <typename Visit>
void for_each_operation(const Block& block, Visit&& visit) {
  for (const auto& operation : block.operations()) {
    visit(*operation);
    for (const auto& nested : operation->blocks()) for_each_operation(*nested, visit);
  }
}

}  // namespace pippin::mil
