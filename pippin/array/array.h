// Lazy arrays: a model written with them is a MIL program being recorded.
//
// An Array is a handle to a value that nobody has computed yet: one output of a node that holds a
// MIL operation. Each function of array/ops.h records one operation; its element type and its
// shape, symbolic dimensions included, are inferred from the op table at once, so that a shape that
// cannot be is an error at the line that made it. A Builder (array/builder.h) owns the inputs and
// states and turns what its outputs need into a mil::Function; nothing else is kept.
//
// Operations stand in the program as they were recorded. C++ leaves the order of a call's arguments
// open, so where two of them record something, name the first: programs are then the same whatever
// the compiler.
//
// Nodes are immutable but for their names and shared: copying an Array copies a pointer.
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

// A state input of the function under construction. Reads and writes take effect in the order in
// which they are recorded.
class State {
 public:
  explicit State(NodePtr node) : node_(std::move(node)) {}
  const mil::ValueInfo& info() const;
  const NodePtr& node() const { return node_; }

 private:
  NodePtr node_;
};

// An argument of record(): the parameter's name and what it is bound to.
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
    NodePtr node;  // null: the literal
    size_t index = 0;
    mil::Value literal;
  };
  std::string name_;
  std::vector<Bound> bound_;
};

// Records one operation of the op table: parameters by name, the table's defaults written out (as
// coremltools does) where they are absent. Throws InvalidArgument for what the op's rule refuses,
// with the place in the model in front.
std::vector<Array> record(std::string_view op, std::vector<Param> params);
// The same for ops with one output.
Array record_one(std::string_view op, std::vector<Param> params);

// Sets the name that the value gets in the program, below the current scope; an empty one is the
// scope itself. Returns `value`.
Array named(Array value, std::string_view name);

// Names what is recorded during its life: Scope("model.layers.0.mlp") gives model_layers_0_mlp_silu
// and so on. A path is absolute; scopes nest as a stack, per thread.
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

// "model.layers.0" -> "model_layers_0": a name that MIL allows.
std::string to_identifier(std::string_view path);

}  // namespace pippin::array
