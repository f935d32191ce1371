// Products over chosen axes, expressed with matmul.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "pippin/base/error.h"
#include "pippin/mx/ops/binary.h"
#include "pippin/mx/ops/create.h"
#include "pippin/mx/ops/matmul.h"
#include "pippin/mx/ops/reduce.h"
#include "pippin/mx/ops/shape_ops.h"
#include "pippin/mx/ops/unary.h"

namespace pippin::mx {
namespace {

// The axes not listed in `axes`, which count from the start.
std::vector<int> others(size_t ndim, const std::vector<int>& axes) {
  std::vector<int> result;
  for (int axis = 0; axis < static_cast<int>(ndim); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) result.push_back(axis);
  }
  return result;
}

int64_t product_of(const array& a, const std::vector<int>& axes) {
  int64_t product = 1;
  for (const int axis : axes) product *= a.shape(axis);
  return product;
}

void multiply_blocks_check(const array& mask, int64_t rows, int64_t columns) {
  if (mask.ndim() >= 2 && mask.shape(-2) == rows && mask.shape(-1) == columns) return;
  fail(ErrorCode::InvalidArgument, "[block_masked_mm] A mask of shape {} is not {} by {} blocks.",
       to_string(mask.shape()), rows, columns);
}

// Each element of a mask for a block of elements of x.
array masked(const array& x, const std::optional<array>& mask, int block) {
  if (!mask) return x;
  const int64_t rows = x.shape(-2), columns = x.shape(-1);
  multiply_blocks_check(*mask, (rows + block - 1) / block, (columns + block - 1) / block);
  array whole = repeat(repeat(*mask, block, -1), block, -2);
  Shape stop = whole.shape();
  stop[stop.size() - 2] = rows;
  stop[stop.size() - 1] = columns;
  whole = slice(whole, Shape(stop.size(), 0), stop);
  if (whole.dtype() == bool_) return where(whole, x, array(0, x.dtype()));
  return multiply(x, astype(whole, x.dtype()));
}

}  // namespace

array tensordot(const array& a, const array& b, const std::vector<int>& axes_a,
                const std::vector<int>& axes_b) {
  if (axes_a.size() != axes_b.size()) {
    fail(ErrorCode::InvalidArgument, "[tensordot] {} axes of one array, {} of the other.",
         axes_a.size(), axes_b.size());
  }
  normal_axes("tensordot", axes_a, a.ndim());
  normal_axes("tensordot", axes_b, b.ndim());
  std::vector<int> in_a, in_b;
  for (size_t i = 0; i < axes_a.size(); ++i) {
    in_a.push_back(normal_axis("tensordot", axes_a[i], a.ndim()));
    in_b.push_back(normal_axis("tensordot", axes_b[i], b.ndim()));
    if (a.shape(in_a.back()) != b.shape(in_b.back())) {
      fail(ErrorCode::InvalidArgument,
           "[tensordot] Axis {} of {} and axis {} of {} have different sizes.", in_a.back(),
           to_string(a.shape()), in_b.back(), to_string(b.shape()));
    }
  }
  std::vector<int> free_a = others(a.ndim(), in_a), free_b = others(b.ndim(), in_b);
  Shape shape;
  for (const int axis : free_a) shape.push_back(a.shape(axis));
  for (const int axis : free_b) shape.push_back(b.shape(axis));
  const int64_t inner_size = product_of(a, in_a);
  const int64_t rows = product_of(a, free_a), columns = product_of(b, free_b);
  free_a.insert(free_a.end(), in_a.begin(), in_a.end());
  in_b.insert(in_b.end(), free_b.begin(), free_b.end());
  const array left = reshape(transpose(a, free_a), {rows, inner_size});
  const array right = reshape(transpose(b, in_b), {inner_size, columns});
  return reshape(matmul(left, right), shape);
}

array tensordot(const array& a, const array& b, int axes) {
  if (axes < 0 || axes > static_cast<int>(std::min(a.ndim(), b.ndim()))) {
    fail(ErrorCode::InvalidArgument, "[tensordot] {} axes of arrays of shapes {} and {}.", axes,
         to_string(a.shape()), to_string(b.shape()));
  }
  std::vector<int> in_a(static_cast<size_t>(axes)), in_b(static_cast<size_t>(axes));
  std::iota(in_a.begin(), in_a.end(), static_cast<int>(a.ndim()) - axes);
  std::iota(in_b.begin(), in_b.end(), 0);
  return tensordot(a, b, in_a, in_b);
}

array inner(const array& a, const array& b) {
  if (a.ndim() == 0 || b.ndim() == 0) return multiply(a, b);
  if (a.shape(-1) != b.shape(-1)) {
    fail(ErrorCode::InvalidArgument, "[inner] The last axes of {} and {} have different sizes.",
         to_string(a.shape()), to_string(b.shape()));
  }
  return tensordot(a, b, {-1}, {-1});
}

array outer(const array& a, const array& b) {
  return multiply(reshape(a, {a.size(), 1}), reshape(b, {1, b.size()}));
}

array kron(const array& a, const array& b) {
  const size_t rank = std::max(a.ndim(), b.ndim());
  Shape left, right, shape;
  for (size_t i = 0; i < rank; ++i) {
    const size_t behind = rank - i;
    const int64_t in_a = behind <= a.ndim() ? a.shape()[a.ndim() - behind] : 1;
    const int64_t in_b = behind <= b.ndim() ? b.shape()[b.ndim() - behind] : 1;
    for (const int64_t size : {in_a, int64_t{1}}) left.push_back(size);
    for (const int64_t size : {int64_t{1}, in_b}) right.push_back(size);
    shape.push_back(in_a * in_b);
  }
  return reshape(multiply(reshape(a, left), reshape(b, right)), shape);
}

array vecdot(const array& a, const array& b, int axis) {
  const int in_a = normal_axis("vecdot", axis, a.ndim());
  const int in_b = normal_axis("vecdot", axis, b.ndim());
  if (a.shape(in_a) != b.shape(in_b)) {
    fail(ErrorCode::InvalidArgument, "[vecdot] Axis {} of {} and of {} have different sizes.", axis,
         to_string(a.shape()), to_string(b.shape()));
  }
  return sum(multiply(conjugate(a), b), axis);
}

array block_masked_mm(const array& a, const array& b, int block_size,
                      const std::optional<array>& mask_out, const std::optional<array>& mask_lhs,
                      const std::optional<array>& mask_rhs) {
  if (block_size != 32 && block_size != 64) {
    fail(ErrorCode::InvalidArgument, "[block_masked_mm] Blocks are of 32 or 64, not {}.",
         block_size);
  }
  if (a.ndim() < 2 || b.ndim() < 2) {
    fail(ErrorCode::InvalidArgument, "[block_masked_mm] Shapes {} and {} hold no matrices.",
         to_string(a.shape()), to_string(b.shape()));
  }
  const array product = matmul(masked(a, mask_lhs, block_size), masked(b, mask_rhs, block_size));
  return masked(product, mask_out, block_size);
}

array segmented_mm(const array& a, const array& b, const array& segments) {
  if (a.ndim() != 2 || b.ndim() != 2 || segments.ndim() < 1 || segments.shape(-1) != 2) {
    fail(ErrorCode::InvalidArgument,
         "[segmented_mm] Two matrices and pairs of bounds are needed, not {}, {} and {}.",
         to_string(a.shape()), to_string(b.shape()), to_string(segments.shape()));
  }
  const int64_t k = a.shape(-1);
  Shape shape(segments.shape().begin(), segments.shape().end() - 1);
  // Fractional bounds are relative to the whole.
  const array bounds = is_floating(segments.dtype())
                           ? astype(multiply(segments, array(k, float32)), int64)
                           : astype(segments, int64);
  const std::vector<int64_t> numbers = bounds.to_vector<int64_t>();
  std::vector<array> products;
  for (size_t i = 0; i + 1 < numbers.size(); i += 2) {
    const int64_t from = std::clamp(numbers[i], int64_t{0}, k);
    const int64_t to = std::clamp(numbers[i + 1], from, k);
    products.push_back(
        matmul(slice(a, {0, from}, {a.shape(0), to}), slice(b, {from, 0}, {to, b.shape(1)})));
  }
  shape.push_back(a.shape(0));
  shape.push_back(b.shape(1));
  if (products.empty()) return zeros(shape, promote_types(a.dtype(), b.dtype()));
  return reshape(stack(products), shape);
}

array hadamard_transform(const array& a, std::optional<float> scale) {
  const int64_t n = a.ndim() == 0 ? 0 : a.shape(-1);
  if (n < 1 || (n & (n - 1)) != 0) {
    fail(ErrorCode::Unsupported,
         "[hadamard_transform] A last axis of a power of two is needed, not {}.",
         to_string(a.shape()));
  }
  const Dtype dtype = at_least_float(a.dtype());
  array x = astype(a, dtype);
  for (int64_t half = 1; half < n; half *= 2) {
    const array pairs = unflatten(x, -1, {n / (2 * half), 2, half});
    const std::vector<array> sides = split(pairs, 2, -2);
    x = flatten(concatenate({add(sides[0], sides[1]), subtract(sides[0], sides[1])}, -2), -3, -1);
  }
  const float by = scale ? *scale : static_cast<float>(1 / std::sqrt(static_cast<double>(n)));
  return multiply(x, array(by, dtype));
}

}  // namespace pippin::mx
