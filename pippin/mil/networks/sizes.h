// Sizes: numbers, or axes of a tensor that are read at run time.
#pragma once

#include <vector>

#include "pippin/mil/networks/graph.h"

namespace pippin::mil::networks {

struct Size {
  int64_t number = 0;  // -1 in `reshaped`: the remaining size
  Var* of = nullptr;   // the tensor whose axis has this size, if it is not a known number
  int64_t axis = 0;
};

// The size of an axis, a number if it is known.
Size size_of(const Graph& graph, Var* var, int64_t axis);
std::vector<Size> sizes_of(const Graph& graph, Var* var);
std::vector<Size> known_sizes(const std::vector<int64_t>& numbers);

// The sizes as an int32 vector: a literal if all are numbers.
Argument size_vector(Graph& graph, const std::vector<Size>& sizes);

// One size may be -1.
Var* reshaped(Graph& graph, Var* x, const std::vector<Size>& sizes);
Var* reshaped(Graph& graph, Var* x, const std::vector<int64_t>& sizes);
Var* expanded(Graph& graph, Var* x, const std::vector<int64_t>& axes);
Var* squeezed(Graph& graph, Var* x, const std::vector<int64_t>& axes);
Var* transposed(Graph& graph, Var* x, const std::vector<int64_t>& order);
Var* concatenated(Graph& graph, const std::vector<Var*>& parts, int64_t axis);
// x[begin, end) along an axis; a negative `end` counts from the end, and 0 is the end.
Var* sliced(Graph& graph, Var* x, int64_t axis, int64_t begin, int64_t end, int64_t stride = 1);
// x with its elements in one axis.
Var* flattened(Graph& graph, Var* x);
// The only element, with rank 0.
Var* scalar(Graph& graph, Var* x);
// x in a shape that it broadcasts to.
Var* broadcast(Graph& graph, Var* x, const std::vector<Size>& sizes);

// ---- Arithmetic of two operands ----

Var* binary(Graph& graph, std::string_view op, Var* x, Binding y);
inline Var* unary(Graph& graph, std::string_view op, Var* x) {
  return graph.add(op, {{"x", {x}}});
}

}  // namespace pippin::mil::networks
