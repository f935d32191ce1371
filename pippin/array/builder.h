// Records a function: its inputs, states and outputs, and the program made of them.
//
// While a Builder exists, it is the current one of its thread: writes to states are registered with
// it, and an operation that needs a symbolic dimension as a number gets it from the shape of an
// input (dim_array).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/mil/program.h"

namespace pippin::array {

class Builder {
 public:
  explicit Builder(mil::Opset opset = mil::Opset::CoreML8);
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;
  ~Builder();

  // Returns the newest Builder of this thread. Throws InvalidArgument if none exists.
  static Builder& current();
  static Builder* current_or_null();

  mil::Opset opset() const { return opset_; }

  // Dimensions may be symbols. Name and shape become part of the function's interface.
  Array input(std::string_view name, mil::DataType type, mil::Shape shape);
  State state(std::string_view name, mil::DataType type, std::vector<int64_t> dims);
  void output(std::string_view name, const Array& value);

  // Returns the function: the operations that the outputs and the writes need, in recording order.
  // Every constant precedes its first use, equal small constants are shared, and every operation
  // has the attribute `name`. Recording may continue afterwards.
  std::unique_ptr<mil::Function> build() const;

  // Returns a dimension as an int32 scalar, computed from the shapes of the inputs, once per
  // expression. Throws InvalidArgument if no input has a symbol.
  Array dim_array(const mil::Dim& dim);
  // Returns several dimensions as an int32 vector.
  Array dims_array(const mil::Shape& dims);

 private:
  friend void write_state(const State& state, const Array& value);
  Array lower(const mil::Dim& dim);
  Array lower_atom(const mil::Dim::Atom& atom);
  Array size_of(const NodePtr& input, size_t axis, const mil::Dim& symbol);
  Array vector_of(const mil::Dim& dim);  // [dim]

  mil::Opset opset_;
  Builder* previous_;
  std::vector<NodePtr> inputs_;  // includes states, in order of declaration
  std::vector<std::pair<std::string, Array>> outputs_;
  std::vector<NodePtr> effects_;
  std::vector<std::pair<mil::Dim, Array>> dims_;
  std::vector<std::pair<mil::Shape, Array>> vectors_;
  std::vector<std::pair<NodePtr, Array>> shapes_;  // of inputs
};

}  // namespace pippin::array
