#include "pippin/mx/ops/matmul.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/mx/core/convert.h"
#include "pippin/mx/core/copy.h"
#include "pippin/mx/core/nest.h"
#include "pippin/mx/core/primitive.h"
#include "pippin/mx/loops/product.h"
#include "pippin/mx/ops/attention.h"
#include "pippin/mx/ops/binary.h"
#include "pippin/mx/ops/complex.h"
#include "pippin/mx/ops/indices.h"
#include "pippin/mx/ops/shape_ops.h"
#include "pippin/mx/ops/unary.h"
#include "pippin/mx/record/recorder.h"

namespace pippin::mx {
namespace {

ProductArgs matrix_args(const Node& out, const Node& a, const Node& b) {
  const size_t ra = a.shape.size(), rb = b.shape.size();
  return {out.dtype,         a.shape[ra - 2], b.shape[rb - 1],
          a.shape[ra - 1],   a.data,          a.strides[ra - 2],
          a.strides[ra - 1], b.data,          b.strides[rb - 2],
          b.strides[rb - 1], nullptr,         out.data};
}

Shape batch_shape(const Shape& shape) {
  return Shape(shape.begin(), shape.end() - 2);
}
Strides batch_strides(const Node& x, const Shape& wanted) {
  const Shape shape = batch_shape(x.shape);
  return broadcast_strides(shape, Strides(x.strides.begin(), x.strides.end() - 2), wanted);
}

// Inputs: a, b[, c], where c is a vector added to every row.
class Matmul final : public Primitive {
 public:
  std::string_view name() const noexcept override { return "matmul"; }
  void eval(Node& out) const override {
    const Node &a = *out.inputs[0], &b = *out.inputs[1];
    out.allocate();
    ProductArgs args = matrix_args(out, a, b);
    std::vector<float> bias;
    if (out.inputs.size() > 2) {
      bias.resize(static_cast<size_t>(args.n));
      copy_to(*out.inputs[2], reinterpret_cast<std::byte*>(bias.data()), float32);
      args.bias = bias.data();
    }
    const Shape batch = batch_shape(out.shape);
    const bool shares_b = b.shape.size() == 2 || num_elements(batch_shape(b.shape)) == 1;
    if (shares_b && num_elements(batch_shape(a.shape)) == num_elements(batch) && folds(a, args)) {
      const ProductOffsets one{0, 0};
      return multiply_matrices(args, {&one, 1});
    }
    const Strides a_strides = batch_strides(a, batch), b_strides = batch_strides(b, batch);
    std::vector<ProductOffsets> offsets;
    offsets.reserve(static_cast<size_t>(num_elements(batch)));
    const Nest<2> nest(batch, {&a_strides, &b_strides});
    nest.each(0, nest.runs(), [&](const Nest<2>::Offsets& at, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        offsets.push_back({at[0] + i * nest.steps()[0], at[1] + i * nest.steps()[1]});
      }
    });
    multiply_matrices(args, offsets);
  }
  void rewrite(Node& out) const override { fuse_attention(out); }
  void record(Recorder& recorder, const Node& out) const override {
    auto product = pippin::array::matmul(recorder.input(out, 0), recorder.input(out, 1));
    if (out.inputs.size() > 2) product = pippin::array::add(product, recorder.input(out, 2));
    recorder.define(out, product);
  }

 private:
  // Whether a's batches can be treated as more rows of one matrix; if so, changes `args`.
  static bool folds(const Node& a, ProductArgs& args) {
    Shape rows(a.shape.begin(), a.shape.end() - 1);
    Strides steps(a.strides.begin(), a.strides.end() - 1);
    const Nest<1> nest(rows, {&steps});
    if (nest.runs() != 1) return false;
    args.m = nest.run();
    args.a_row = nest.steps()[0];
    return true;
  }
};

// Inputs: a, b, indices of a's matrices, indices of b's.
class GatherMatmul final : public Primitive {
 public:
  std::string_view name() const noexcept override { return "gather_mm"; }
  void eval(Node& out) const override {
    const Node &a = *out.inputs[0], &b = *out.inputs[1];
    const std::vector<int64_t> left = matrices(a, *out.inputs[2]);
    const std::vector<int64_t> right = matrices(b, *out.inputs[3]);
    out.allocate();
    std::vector<ProductOffsets> offsets(left.size());
    for (size_t i = 0; i < left.size(); ++i) offsets[i] = {left[i], right[i]};
    multiply_matrices(matrix_args(out, a, b), offsets);
  }

 private:
  // The offset of each selected matrix.
  static std::vector<int64_t> matrices(const Node& x, const Node& indices) {
    const Shape batch = batch_shape(x.shape);
    std::vector<int64_t> result = read_indices("gather_mm", indices, num_elements(batch));
    for (int64_t& index : result) {
      int64_t rest = index;
      index = 0;
      for (size_t axis = batch.size(); axis-- > 0;) {
        index += rest % batch[axis] * x.strides[axis];
        rest /= batch[axis];
      }
    }
    return result;
  }
};

Dtype product_type(const char* op, const array& a, const array& b) {
  const Dtype dtype = promote_types(a.dtype(), b.dtype());
  if (!is_floating(dtype)) {
    fail(ErrorCode::InvalidArgument, "[{}] Needs floats, not {} and {}.", op, to_string(a.dtype()),
         to_string(b.dtype()));
  }
  return dtype;
}

void check_inner(const char* op, const array& a, const array& b) {
  if (a.shape(-1) == b.shape(-2)) return;
  fail(ErrorCode::InvalidArgument,
       "[{}] The last axis of {} and the last but one of {} have different sizes.", op,
       to_string(a.shape()), to_string(b.shape()));
}

// Extends both to at least two axes, and removes the axes added for vectors from the product.
array product(const char* op, const array& in_a, const array& in_b,
              const std::optional<array>& row) {
  if (in_a.ndim() == 0 || in_b.ndim() == 0) {
    fail(ErrorCode::InvalidArgument, "[{}] Scalars are not matrices.", op);
  }
  const Dtype dtype = product_type(op, in_a, in_b);
  array a = astype(in_a, dtype), b = astype(in_b, dtype);
  if (a.ndim() == 1) a = expand_dims(a, 0);
  if (b.ndim() == 1) b = expand_dims(b, 1);
  check_inner(op, a, b);
  Shape shape = broadcast_shapes(op, batch_shape(a.shape()), batch_shape(b.shape()));
  shape.push_back(a.shape(-2));
  shape.push_back(b.shape(-1));
  array result = row ? make(shared_primitive<Matmul>(), dtype, shape, {&a, &b, &*row})
                     : make(shared_primitive<Matmul>(), dtype, shape, {&a, &b});
  std::vector<int> extra;
  if (in_a.ndim() == 1) extra.push_back(-2);
  if (in_b.ndim() == 1) extra.push_back(-1);
  return extra.empty() ? result : squeeze(result, extra);
}

}  // namespace

array matmul(const array& a, const array& b) {
  if (a.dtype() == complex64 || b.dtype() == complex64) {
    const array x = astype(a, complex64), y = astype(b, complex64);
    const auto of = [](const array& u, const array& v) {
      return product("matmul", u, v, std::nullopt);
    };
    return make_complex(subtract(of(real(x), real(y)), of(imag(x), imag(y))),
                        add(of(real(x), imag(y)), of(imag(x), real(y))));
  }
  return product("matmul", a, b, std::nullopt);
}

array addmm(const array& c, const array& a, const array& b, float alpha, float beta) {
  if (a.dtype() == complex64 || b.dtype() == complex64 || c.dtype() == complex64) {
    return add(multiply(array(alpha), matmul(a, b)), multiply(array(beta), c));
  }
  const Dtype dtype = promote_types(product_type("addmm", a, b), c.dtype());
  const array x = astype(a, dtype), y = astype(b, dtype), z = astype(c, dtype);
  // A row added to every row becomes part of the product.
  const bool is_row = alpha == 1 && beta == 1 && dtype != float64 && y.ndim() >= 2 &&
                      z.ndim() >= 1 && z.size() == y.shape(-1) && z.shape(-1) == z.size() &&
                      z.ndim() <= x.ndim();
  if (is_row) return product("addmm", x, y, z);
  array result = matmul(x, y);
  if (!(broadcast_shapes("addmm", z.shape(), result.shape()) == result.shape())) {
    fail(ErrorCode::InvalidArgument, "[addmm] An array of shape {} is not added to one of {}.",
         to_string(z.shape()), to_string(result.shape()));
  }
  if (alpha != 1) result = multiply(result, array(alpha, dtype));
  return add(result, beta == 1 ? z : multiply(z, array(beta, dtype)));
}

array gather_mm(const array& in_a, const array& in_b, const std::optional<array>& lhs_indices,
                const std::optional<array>& rhs_indices, bool) {
  if (!lhs_indices && !rhs_indices) return matmul(in_a, in_b);
  if (in_a.ndim() < 2 || in_b.ndim() < 2) {
    fail(ErrorCode::InvalidArgument, "[gather_mm] Arrays of shapes {} and {} hold no matrices.",
         to_string(in_a.shape()), to_string(in_b.shape()));
  }
  const Dtype dtype = product_type("gather_mm", in_a, in_b);
  const array a = astype(in_a, dtype), b = astype(in_b, dtype);
  check_inner("gather_mm", a, b);
  const array left = lhs_indices ? *lhs_indices : every_matrix(a);
  const array right = rhs_indices ? *rhs_indices : every_matrix(b);
  check_index_type("gather_mm", left);
  check_index_type("gather_mm", right);
  Shape shape = broadcast_shapes("gather_mm", left.shape(), right.shape());
  const array inputs[] = {a, b, broadcast_to(left, shape), broadcast_to(right, shape)};
  shape.push_back(a.shape(-2));
  shape.push_back(b.shape(-1));
  return make(shared_primitive<GatherMatmul>(), dtype, std::move(shape),
              std::span<const array>(inputs));
}

}  // namespace pippin::mx
