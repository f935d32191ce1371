// linear, matmul and einsum through the dot kernels.
#include <algorithm>
#include <string>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/engine/lowering/axes.h"
#include "pippin/engine/lowering/rules.h"
#include "pippin/engine/lowering/weight_forms.h"
#include "pippin/engine/weights/weight_stack.h"
#include "pippin/mil/ops/product.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Shape;

View one_batch(const View& matrix) {
  View view = matrix;
  view.shape.insert(view.shape.begin(), Dim(1));
  view.strides.insert(view.strides.begin(), Dim(0));
  return view;
}

// The floats of the kernels cannot hold all integers.
void check_floats(const Builder& builder, const mil::Operation& operation) {
  const mil::DataType type = builder.info(operation.output()).type;
  if (mil::is_float(type)) return;
  fail(ErrorCode::Unsupported, "{}: no kernel multiplies {}", builder.where(operation),
       mil::to_string(type));
}

// y [m, n] of the rows of x, the weight, and the operation's bias if any.
View weight_product(Builder& builder, const WeightUse& use, std::string name) {
  const mil::Operation& operation = use.operation;
  const View& x = use.x;
  const bool bias = operation.find_input("bias") != nullptr;
  const auto operands = [&](const Dim& n, const View* w) {
    std::vector<View> views = {builder.allocate(Storage::F32, {x.shape[0], n}), x};
    if (w != nullptr) views.push_back(*w);
    if (bias) views.push_back(builder.contiguous(builder.floats(operation, "bias")));
    return views;
  };
  for (const WeightForm form : weight_forms()) {
    if (const auto found = form(builder, use)) {
      std::vector<View> views = operands(Dim(found->n), found->w ? &*found->w : nullptr);
      View y = views.front();
      builder.emit(DotNode{name + found->form, {{found->n, found->weight, bias}}},
                   std::move(views));
      return y;
    }
  }
  // A computed matrix.
  const View& w = use.matrix();
  std::vector<View> views = operands(w.shape[0], &w);
  View y = views.front();
  for (size_t i = 0; i < 3; ++i) views[i] = one_batch(views[i]);
  builder.emit(BatchedDotNode{std::move(name)}, std::move(views));
  return y;
}

// The value of a parameter in a type of floats.
View float_view(Builder& builder, const mil::Operation& operation, std::string_view parameter) {
  const View view = builder.view(operation, parameter);
  return is_float(view.storage) ? view : builder.view_as(view, Storage::F32);
}

void linear(Builder& builder, const mil::Operation& operation) {
  check_floats(builder, operation);
  const View x = builder.matrix(builder.floats(operation, "x"), 1);
  const WeightUse weight(operation, x, "weight", /*rows_are_own=*/true, [&] {
    return builder.matrix(float_view(builder, operation, "weight"), 1);
  });
  const View y = weight_product(builder, weight, "linear");
  builder.define_output(operation, *reshape_view(y, builder.info(operation.output()).shape));
}

View swap_last(const View& view) {
  View result = view;
  const size_t rank = view.shape.size();
  std::swap(result.shape[rank - 2], result.shape[rank - 1]);
  std::swap(result.strides[rank - 2], result.strides[rank - 1]);
  return result;
}

// [batch..., rows, k] with rows of unit stride and the batch as one axis; copied if necessary.
View batched(Builder& builder, const View& view, const Shape& batch) {
  Shape shape = batch;
  shape.insert(shape.end(), view.shape.end() - 2, view.shape.end());
  View wide = broadcast_view(view, shape);
  const auto merge = [&](const View& source) -> std::optional<View> {
    const size_t rank = source.shape.size();
    const bool unit = source.strides[rank - 1] == Dim(1) || source.shape[rank - 1] == Dim(1);
    View outer = source;
    outer.shape.resize(rank - 2);
    outer.strides.resize(rank - 2);
    const auto merged = reshape_view(outer, {mil::num_elements(outer.shape)});
    if (!unit || !merged) return std::nullopt;
    View result = source;
    result.shape = {merged->shape[0], source.shape[rank - 2], source.shape[rank - 1]};
    result.strides = {merged->strides[0], source.strides[rank - 2], Dim(1)};
    return result;
  };
  if (auto result = merge(wide)) return *result;
  View copy = builder.allocate(wide.storage, wide.shape);
  builder.emit_copy(copy, wide);
  return *merge(copy);
}

// x · yᵀ for a compressed weight y with a matrix for each batch of x.
bool stacked_product(Builder& builder, const mil::Operation& operation, const View& x) {
  const auto weight = builder.quantized(operation, "y");
  const auto y_shape = mil::constant_shape(builder.shape(operation, "y"));
  if (weight == nullptr || !y_shape || y_shape->size() < 3 || x.rank() < 3) return false;
  const size_t y_batch = y_shape->size() - 2, x_batch = x.shape.size() - 2;
  int64_t batches = 1;
  for (size_t i = 0; i < y_batch; ++i) batches *= (*y_shape)[i];
  // Neither matrices nor batches of x are broadcast: the axes of both agree, except for leading
  // ones.
  for (size_t i = 1; i <= std::max(x_batch, y_batch); ++i) {
    const Dim a = i <= x_batch ? x.shape[x_batch - i] : Dim(1);
    const Dim b = i <= y_batch ? Dim((*y_shape)[y_batch - i]) : Dim(1);
    if (!(a == b)) return false;
  }
  const int64_t n = (*y_shape)[y_batch], k = (*y_shape)[y_batch + 1];
  if (batches < 2) return false;
  if (!stacked_matrix(*weight, batches, n, k)) return false;
  const View rows = batched(builder, x, Shape(x.shape.begin(), x.shape.end() - 2));
  const View out = builder.allocate(Storage::F32, {rows.shape[0], rows.shape[1], Dim(n)});
  builder.emit(StackedDotNode{"matmul", {batches, n, k, weight}}, {out, rows});
  builder.define_output(operation, *reshape_view(out, builder.info(operation.output()).shape));
  return true;
}

void matmul(Builder& builder, const mil::Operation& operation) {
  check_floats(builder, operation);
  View x = builder.floats(operation, "x");
  const bool transpose_x = bool_param(builder, operation, "transpose_x");
  const bool transpose_y = bool_param(builder, operation, "transpose_y");
  if (x.rank() >= 2 && !transpose_x && transpose_y && builder.shape(operation, "y").size() == 2) {
    const WeightUse weight(operation, builder.matrix(x, 1), "y", /*rows_are_own=*/true, [&] {
      return builder.matrix(builder.contiguous(float_view(builder, operation, "y")), 1);
    });
    const View product = weight_product(builder, weight, "matmul");
    builder.define_output(operation,
                          *reshape_view(product, builder.info(operation.output()).shape));
    return;
  }
  if (!transpose_x && transpose_y && stacked_product(builder, operation, x)) return;
  View y = float_view(builder, operation, "y");
  // A vector is one row of x or one column of y.
  if (x.rank() == 1) x = *reshape_view(x, {Dim(1), x.shape[0]});
  if (y.rank() == 1) y = *reshape_view(y, {y.shape[0], Dim(1)});
  if (transpose_x) x = swap_last(x);
  if (!transpose_y) y = swap_last(y);  // now [n, k]
  const size_t x_batch = x.shape.size() - 2, y_batch = y.shape.size() - 2;
  const size_t batch_rank = std::max(x_batch, y_batch);
  Shape batch(batch_rank, Dim(1));
  for (size_t i = 0; i < batch_rank; ++i) {
    const Dim a = i + x_batch < batch_rank ? Dim(1) : x.shape[i + x_batch - batch_rank];
    const Dim b = i + y_batch < batch_rank ? Dim(1) : y.shape[i + y_batch - batch_rank];
    batch[i] = a == Dim(1) ? b : a;
  }
  View out;
  if (std::all_of(y.shape.begin(), y.shape.end() - 2, [](const Dim& d) { return d == Dim(1); })) {
    // One matrix for the whole batch: all rows of x in one product.
    const View rows = builder.matrix(x, 1);
    const WeightUse weight(operation, rows, "y", /*rows_are_own=*/false, [&] {
      return builder.matrix(
          *reshape_view(builder.contiguous(y), {y.shape[y_batch], y.shape[y_batch + 1]}), 1);
    });
    out = weight_product(builder, weight, "matmul");
  } else {
    const View a = batched(builder, x, batch), b = batched(builder, y, batch);
    out = builder.allocate(Storage::F32, {a.shape[0], a.shape[1], b.shape[1]});
    builder.emit(BatchedDotNode{"matmul"}, {out, a, b});
  }
  builder.define_output(operation, *reshape_view(out, builder.info(operation.output()).shape));
}

// "nchw,nwhu->nchu" and other equations that are a matrix product for each element of the common
// axes.
void einsum(Builder& builder, const mil::Operation& operation) {
  check_floats(builder, operation);
  const auto product = mil::product_of(operation);
  const auto decline = [&](std::string_view why) {
    fail(ErrorCode::Unsupported, "{}: \"{}\" {}", builder.where(operation),
         string_param(builder, operation, "equation"), why);
  };
  if (!product || !product->is_of_matrices()) decline("is not a product of matrices");
  const auto ordered = [&](const mil::Product::Operand& operand) {
    std::vector<int64_t> perm = operand.batch;
    perm.insert(perm.end(), {operand.own.front(), operand.summed.front()});
    return transpose_view(builder.view_as(builder.view(*operand.binding), Storage::F32), perm);
  };
  const View x = ordered(product->operands[0]), y = ordered(product->operands[1]);
  const auto rank = static_cast<size_t>(x.rank());
  for (size_t i = 0; i < rank; ++i) {
    // Axes of size 1 that broadcast are left to the value rule.
    if (i + 2 != rank && !(x.shape[i] == y.shape[i])) decline("repeats an axis");
  }
  const Shape batch(x.shape.begin(), x.shape.end() - 2);
  const View a = batched(builder, x, batch), b = batched(builder, y, batch);
  const View out = builder.allocate(Storage::F32, {a.shape[0], a.shape[1], b.shape[1]});
  builder.emit(BatchedDotNode{"einsum"}, {out, a, b});
  Shape shape = batch;
  shape.insert(shape.end(), {a.shape[1], b.shape[1]});
  // The positions of the batch, the rows and the columns in the result.
  std::vector<int64_t> places = product->batch;
  places.insert(places.end(), {product->own[0].front(), product->own[1].front()});
  builder.define_output(operation, transpose_view(*reshape_view(out, shape), inverse(places)));
}

View permuted(const View& view, size_t from, size_t to) {
  std::vector<int64_t> perm;
  for (int64_t i = 0; i < view.rank(); ++i) perm.push_back(i);
  const int64_t axis = perm[from];
  perm.erase(perm.begin() + static_cast<std::ptrdiff_t>(from));
  perm.insert(perm.begin() + static_cast<std::ptrdiff_t>(to), axis);
  return transpose_view(view, perm);
}

}  // namespace

void lower_pointwise_conv(Builder& builder, const mil::Operation& operation) {
  const View x = builder.floats(operation, "x");
  const size_t last = x.shape.size() - 1;
  const View rows = builder.matrix(permuted(x, 1, last), 1);  // [N * places, channels]
  const WeightUse weight(operation, rows, "weight", /*rows_are_own=*/true, [&] {
    const View w = float_view(builder, operation, "weight");
    return builder.matrix(*reshape_view(builder.contiguous(w), {w.shape[0], w.shape[1]}), 1);
  });
  const View y = weight_product(builder, weight, "conv");
  Shape channels_last_order = builder.info(operation.output()).shape;
  channels_last_order.erase(channels_last_order.begin() + 1);
  channels_last_order.push_back(y.shape[1]);
  builder.define_output(operation, permuted(*reshape_view(y, channels_last_order), last, 1));
}

void add_dot_rules(Rules& rules) {
  rules["einsum"] = einsum;
  rules["linear"] = linear;
  rules["matmul"] = matmul;
}

}  // namespace pippin::engine
