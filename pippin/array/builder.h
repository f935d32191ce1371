// Where a function is recorded: its inputs, states and outputs, and the program text made of them.
//
// While a Builder lives it is the current one of its thread: writes to states are registered with
// it, and a symbolic dimension that an operation needs as a number is taken from the shape of one
// of its inputs (dim_array).
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

  // The Builder of this thread that was made last. Throws InvalidArgument where there is none.
  static Builder& current();
  static Builder* current_or_null();

  mil::Opset opset() const { return opset_; }

  // Dimensions may be symbols; name and shape become the function's interface.
  Array input(std::string_view name, mil::DataType type, mil::Shape shape);
  State state(std::string_view name, mil::DataType type, std::vector<int64_t> dims);
  void output(std::string_view name, const Array& value);

  // The function: what the outputs and the writes need, in recording order. Every constant stands
  // before its first use, equal small ones are shared, and every operation has the attribute
  // `name`. The Builder may go on recording afterwards.
  std::unique_ptr<mil::Function> build() const;

  // A dimension as an int32 scalar, computed from the shapes of the inputs; each expression once.
  // Throws InvalidArgument where a symbol belongs to no input.
  Array dim_array(const mil::Dim& dim);
  // Several as an int32 vector.
  Array dims_array(const mil::Shape& dims);

 private:
  friend void write_state(const State& state, const Array& value);
  Array lower(const mil::Dim& dim);
  Array lower_atom(const mil::Dim::Atom& atom);
  Array size_of(const NodePtr& input, size_t axis, const mil::Dim& symbol);
  Array vector_of(const mil::Dim& dim);  // [dim]

  mil::Opset opset_;
  Builder* previous_;
  std::vector<NodePtr> inputs_;  // states too, in order of declaration
  std::vector<std::pair<std::string, Array>> outputs_;
  std::vector<NodePtr> effects_;
  std::vector<std::pair<mil::Dim, Array>> dims_;
  std::vector<std::pair<mil::Shape, Array>> vectors_;
  std::vector<std::pair<NodePtr, Array>> shapes_;  // of inputs
};

}  // namespace pippin::array
