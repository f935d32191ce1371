#include "pippin/mil/networks/sizes.h"

#include <algorithm>
#include <numeric>

#include "pippin/base/error.h"

namespace pippin::mil::networks {

Size size_of(const Graph& graph, Var* var, int64_t axis) {
  const Shape& shape = graph.shape(var);
  axis = axis_of(axis, std::ssize(shape));
  if (const auto known = shape[static_cast<size_t>(axis)].try_constant()) return {*known};
  return {0, var, axis};
}

std::vector<Size> sizes_of(const Graph& graph, Var* var) {
  std::vector<Size> sizes;
  const int64_t rank = graph.rank(var);
  sizes.reserve(static_cast<size_t>(rank));
  for (int64_t axis = 0; axis < rank; ++axis) sizes.push_back(size_of(graph, var, axis));
  return sizes;
}

std::vector<Size> known_sizes(const std::vector<int64_t>& numbers) {
  std::vector<Size> sizes;
  sizes.reserve(numbers.size());
  for (const int64_t number : numbers) sizes.push_back({number});
  return sizes;
}

Argument size_vector(Graph& graph, const std::vector<Size>& sizes) {
  const auto is_known = [](const Size& size) { return size.of == nullptr; };
  if (std::all_of(sizes.begin(), sizes.end(), is_known)) {
    std::vector<int64_t> numbers;
    numbers.reserve(sizes.size());
    for (const Size& size : sizes) numbers.push_back(size.number);
    return {integers(numbers)};
  }
  Argument parts;
  parts.reserve(sizes.size());
  for (const Size& size : sizes) {
    if (is_known(size)) {
      parts.emplace_back(integers({size.number}));
      continue;
    }
    Var* shape = graph.add("shape", {{"x", {size.of}}});
    parts.emplace_back(
        graph.add("slice_by_size",
                  {{"x", {shape}}, {"begin", {integers({size.axis})}}, {"size", {integers({1})}}}));
  }
  if (parts.size() == 1) return parts;
  return {graph.add("concat", {{"values", std::move(parts)}, {"axis", {integer(0)}}})};
}

Var* reshaped(Graph& graph, Var* x, const std::vector<Size>& sizes) {
  const std::vector<Size> own = sizes_of(graph, x);
  const bool same = std::equal(own.begin(), own.end(), sizes.begin(), sizes.end(),
                               [](const Size& a, const Size& b) {
                                 return a.of == b.of && a.number == b.number && a.axis == b.axis;
                               });
  if (same) return x;
  return graph.add("reshape", {{"x", {x}}, {"shape", size_vector(graph, sizes)}});
}

Var* reshaped(Graph& graph, Var* x, const std::vector<int64_t>& sizes) {
  return reshaped(graph, x, known_sizes(sizes));
}

Var* expanded(Graph& graph, Var* x, const std::vector<int64_t>& axes) {
  if (axes.empty()) return x;
  return graph.add("expand_dims", {{"x", {x}}, {"axes", {integers(axes)}}});
}

Var* squeezed(Graph& graph, Var* x, const std::vector<int64_t>& axes) {
  if (axes.empty()) return x;
  return graph.add("squeeze", {{"x", {x}}, {"axes", {integers(axes)}}});
}

Var* transposed(Graph& graph, Var* x, const std::vector<int64_t>& order) {
  std::vector<int64_t> same(static_cast<size_t>(graph.rank(x)));
  std::iota(same.begin(), same.end(), 0);
  if (order == same) return x;
  return graph.add("transpose", {{"x", {x}}, {"perm", {integers(order)}}});
}

Var* concatenated(Graph& graph, const std::vector<Var*>& parts, int64_t axis) {
  if (parts.size() == 1) return parts.front();
  return graph.add("concat",
                   {{"values", Argument(parts.begin(), parts.end())}, {"axis", {integer(axis)}}});
}

Var* sliced(Graph& graph, Var* x, int64_t axis, int64_t begin, int64_t end, int64_t stride) {
  const int64_t rank = graph.rank(x);
  const auto at = static_cast<size_t>(axis_of(axis, rank));
  std::vector<int64_t> begins(static_cast<size_t>(rank)), ends(begins.size()),
      strides(begins.size(), 1);
  std::vector<bool> from_start(begins.size(), true), to_end(begins.size(), true);
  begins[at] = begin;
  ends[at] = end;
  strides[at] = stride;
  from_start[at] = begin == 0;
  to_end[at] = end == 0;
  return graph.add("slice_by_index", {{"x", {x}},
                                      {"begin", {integers(begins)}},
                                      {"end", {integers(ends)}},
                                      {"stride", {integers(strides)}},
                                      {"begin_mask", {Value::of_bools(from_start)}},
                                      {"end_mask", {Value::of_bools(to_end)}}});
}

Var* flattened(Graph& graph, Var* x) {
  return graph.rank(x) == 1 ? x : reshaped(graph, x, std::vector<int64_t>{-1});
}

Var* scalar(Graph& graph, Var* x) {
  if (graph.rank(x) == 0) return x;
  const Shape& shape = graph.shape(x);
  const bool single =
      std::all_of(shape.begin(), shape.end(), [](const Dim& dim) { return dim == Dim(1); });
  if (!single) x = reshaped(graph, x, std::vector<int64_t>{1});
  std::vector<int64_t> axes(static_cast<size_t>(graph.rank(x)));
  std::iota(axes.begin(), axes.end(), 0);
  return squeezed(graph, x, axes);
}

Var* broadcast(Graph& graph, Var* x, const std::vector<Size>& sizes) {
  Value zero = number(0);
  if (graph.type(x) == DataType::Int32) zero = integer(0);
  Var* zeros = graph.add("fill", {{"shape", size_vector(graph, sizes)}, {"value", {zero}}});
  if (graph.type(x) == DataType::Bool) x = graph.cast(x, DataType::Float32);
  return binary(graph, "add", x, zeros);
}

Var* binary(Graph& graph, std::string_view op, Var* x, Binding y) {
  return graph.add(op, {{"x", {x}}, {"y", {std::move(y)}}});
}

}  // namespace pippin::mil::networks
