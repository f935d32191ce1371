// Lazy arrays, which record a model as a MIL program.
//
// An Array is a handle to a value that is not computed yet: one output of a node with a MIL
// operation. Each function of array/ops.h records one operation. The op table infers its element
// type and shape, including symbolic dimensions, at once, so that an impossible shape is an error
// at the line that made it. A Builder (array/builder.h) owns the inputs and states and turns the
// nodes that its outputs need into a mil::Function; other nodes are dropped.
//
// Operations appear in the program in recording order. C++ does not define the evaluation order of
// a call's arguments. If two of them record operations, name the first, so that programs do not
// depend on the compiler.
//
// Nodes are shared and, except for their names, immutable: copying an Array copies a pointer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pippin/mil/dim.h"
#include "pippin/mil/ops/op.h"
#include "pippin/mil/program.h"

namespace pippin::array {

struct Node;
using NodePtr = std::shared_ptr<Node>;

class Array {
 public:
  Array(NodePtr node, size_t index) : node_(std::move(node)), index_(index) {}

  const mil::ValueInfo& info() const;
  mil::DataType type() const { return info().type; }
  const mil::Shape& shape() const { return info().shape; }
  int64_t rank() const { return static_cast<int64_t>(shape().size()); }
  // A negative axis counts from the end.
  const mil::Dim& dim(int64_t axis) const;

  const NodePtr& node() const { return node_; }
  size_t index() const { return index_; }

 private:
  NodePtr node_;
  size_t index_;
};

// A state input of the function under construction. Reads and writes take effect in recording
// order.
class State {
 public:
  explicit State(NodePtr node) : node_(std::move(node)) {}
  const mil::ValueInfo& info() const;
  const NodePtr& node() const { return node_; }

 private:
  NodePtr node_;
};

// An argument of record(): the parameter's name and its value.
class Param {
 public:
  Param(std::string_view name, const Array& value);
  Param(std::string_view name, const State& value);
  Param(std::string_view name, const std::vector<Array>& values);  // a tuple
  Param(std::string_view name, mil::Value value);
  Param(std::string_view name, bool value);
  Param(std::string_view name, int64_t value);  // an int32 scalar
  Param(std::string_view name, int value) : Param(name, int64_t{value}) {}
  Param(std::string_view name, const char* value);
  Param(std::string_view name, std::string_view value);
  Param(std::string_view name, const std::vector<int64_t>& values);  // an int32 vector
  Param(std::string_view name, const std::vector<bool>& values);

 private:
  friend NodePtr record_node(std::string_view, std::vector<Param>);
  struct Bound {
    NodePtr node;  // null: a literal
    size_t index = 0;
    mil::Value literal;
  };
  std::string name_;
  std::vector<Bound> bound_;
};

// Records one operation of the op table: parameters by name; absent ones are written with the
// table's defaults, as coremltools does. Throws InvalidArgument, starting with the location in the
// model, if the op's rule rejects them.
std::vector<Array> record(std::string_view op, std::vector<Param> params);
// The same for ops with one output.
Array record_one(std::string_view op, std::vector<Param> params);

// Sets the name of the value in the program, below the current scope; an empty name means the scope
// itself. Returns `value`.
Array named(Array value, std::string_view name);

// Names the values that are recorded during its lifetime: Scope("model.layers.0.mlp") gives
// model_layers_0_mlp_silu and so on. A path is absolute; scopes nest as a stack, per thread.
class Scope {
 public:
  explicit Scope(std::string_view path);
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope();

  static const std::string& current();

 private:
  std::string previous_;
};

// Converts "model.layers.0" to "model_layers_0", a valid MIL name.
std::string to_identifier(std::string_view path);

}  // namespace pippin::array
