// topk, argsort and one_hot.
#include <algorithm>
#include <numeric>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {
namespace {

// The permutation that swaps an axis with the last one, which is its own inverse.
std::vector<int64_t> swapped_with_last(int64_t axis, int64_t rank) {
  std::vector<int64_t> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[static_cast<size_t>(axis)], perm.back());
  return perm;
}

// Emits the sort of x along the operation's axis; gives the indices, and the values on request.
// `count` is the result's size along the axis.
struct Sorted {
  View indices, values;
};
Sorted sorted(Builder& builder, const mil::Operation& operation, const mil::Shape& shape,
              bool values) {
  View x = builder.view(operation, "x");
  if (is_float(x.storage)) x = builder.view_as(x, Storage::F32);
  const auto perm =
      swapped_with_last(normalize_axis(int_param(builder, operation, "axis"), x.rank()), x.rank());
  const View rows = builder.matrix(transpose_view(x, perm), 1);
  if (rows.shape[1].upper() > INT32_MAX) {
    fail(ErrorCode::Unsupported, "{}: {} elements", builder.where(operation),
         rows.shape[1].upper());
  }
  mil::Shape last = shape;
  for (size_t i = 0; i < perm.size(); ++i) last[i] = shape[static_cast<size_t>(perm[i])];
  Sorted result{builder.allocate(Storage::I32, last), {}};
  std::vector<View> views = {*matrix_view(result.indices, 1)};
  if (values) {
    result.values = builder.allocate(x.storage, last);
    views.push_back(*matrix_view(result.values, 1));
    result.values = transpose_view(result.values, perm);
  }
  views.push_back(rows);
  builder.emit(SortNode{operation.type(), bool_param(builder, operation, "ascending")},
               std::move(views), values ? 2 : 1);
  result.indices = transpose_view(result.indices, perm);
  return result;
}

void topk(Builder& builder, const mil::Operation& operation) {
  const auto& outputs = operation.outputs();
  const Sorted result =
      sorted(builder, operation, builder.info(outputs[0].get()).shape, /*values=*/true);
  builder.define(outputs[0].get(), result.values);
  if (outputs.size() > 1) builder.define(outputs[1].get(), result.indices);
}

void argsort(Builder& builder, const mil::Operation& operation) {
  builder.define_output(operation,
                        sorted(builder, operation, builder.info(operation.output()).shape,
                               /*values=*/false)
                            .indices);
}

void one_hot(Builder& builder, const mil::Operation& operation) {
  const View indices = builder.contiguous(builder.ints(operation, "indices"));
  const mil::ValueInfo& output = builder.info(operation.output());
  const auto rank = static_cast<int64_t>(output.shape.size());
  const int64_t axis = normalize_axis(int_param(builder, operation, "axis"), rank);
  const double on = float_param(builder, operation, "on_value");
  const double off = float_param(builder, operation, "off_value");
  const View flat = *reshape_view(indices, {mil::num_elements(indices.shape)});
  // The new axis is last in memory, then moved to its place.
  mil::Shape shape = output.shape;
  std::rotate(shape.begin() + axis, shape.begin() + axis + 1, shape.end());
  std::vector<int64_t> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  std::rotate(perm.begin() + axis, perm.end() - 1, perm.end());
  const Storage storage = run_storage(output.type);
  const View y = builder.allocate(storage, shape);
  std::vector<View> views = {*reshape_view(y, {flat.shape[0], shape.back()}), flat};
  builder.emit(OneHotNode{on, off}, std::move(views));
  builder.define_output(operation, transpose_view(y, perm));
}

}  // namespace

void add_choice_rules(Rules& rules) {
  rules["argsort"] = argsort;
  rules["one_hot"] = one_hot;
  rules["topk"] = topk;
}

}  // namespace pippin::engine
