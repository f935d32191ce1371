// Distributions computed from random bits by MLX's formulas.
#include "pippin/mx/ops/random.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "pippin/base/error.h"
#include "pippin/mx/core/index.h"
#include "pippin/mx/loops/symmetric_root.h"
#include "pippin/mx/ops/binary.h"
#include "pippin/mx/ops/matmul.h"
#include "pippin/mx/ops/reduce.h"
#include "pippin/mx/ops/scan_sort.h"
#include "pippin/mx/ops/shape_ops.h"
#include "pippin/mx/ops/unary.h"

namespace pippin::mx::random {
namespace {

void check_floating(const char* op, Dtype dtype) {
  if (is_floating(dtype) && dtype != float64) return;
  fail(ErrorCode::InvalidArgument, "[{}] {} is not supported.", op, to_string(dtype));
}

// The largest number of a type below 1.
float below_one(Dtype dtype) {
  return dtype == float16    ? 1 - 0x1p-11f
         : dtype == bfloat16 ? 1 - 0x1p-8f
                             : std::nextafter(1.0f, 0.0f);
}

// In (-1, 1).
array symmetric(const Shape& shape, const std::optional<array>& key) {
  return uniform(array(std::nextafter(-1.0f, 0.0f)), array(1.0f), shape, float32, key);
}

array sample(const array& logits, int axis, const Shape& shape, const std::optional<array>& key) {
  const int64_t count = logits.shape(axis);
  // One distribution, many samples: inverts its cumulative sums.
  if (count > 0 && logits.size() == count && !shape.empty()) {
    const array x = astype(reshape(logits, {count}), promote_types(logits.dtype(), float32));
    const array largest = max(x);
    const array weights =
        where(isinf(largest), astype(equal(x, largest), x.dtype()), exp(subtract(x, largest)));
    const array sums = cumsum(weights, 0, false, false);
    const array u = multiply(uniform(shape, float32, key), sum(weights));
    return subtract(searchsorted(sums, u, "right"), array(uint32_t{1}));
  }
  Shape noise = shape;
  const auto at = static_cast<size_t>(axis) + shape.size() + 1 - logits.ndim();
  noise.insert(noise.begin() + at, count);
  return argmax(add(gumbel(noise, float32, key), logits), static_cast<int>(at));
}

}  // namespace

array uniform(const array& low, const array& high, const Shape& shape, Dtype dtype,
              const std::optional<array>& key) {
  check_floating("uniform", dtype);
  const array from = astype(low, dtype);
  const array range = subtract(astype(high, dtype), from);
  if (!(broadcast_shapes("uniform", shape, range.shape()) == shape)) {
    fail(ErrorCode::InvalidArgument, "[uniform] Bounds of shape {} for numbers of shape {}.",
         to_string(range.shape()), to_string(shape));
  }
  const array scaled = divide(bits(shape, 4, key), array(0x1p32f));
  const array unit = astype(minimum(scaled, array(below_one(dtype))), dtype);
  return add(multiply(range, unit), from);
}

array uniform(const Shape& shape, Dtype dtype, const std::optional<array>& key) {
  check_floating("uniform", dtype);
  return uniform(array(0, dtype), array(1, dtype), shape, dtype, key);
}

array normal(const Shape& shape, Dtype dtype, const std::optional<array>& loc,
             const std::optional<array>& scale, const std::optional<array>& key) {
  if (dtype == complex64) {
    // Each part has half the variance.
    Shape parts = shape;
    parts.push_back(2);
    const array pairs = multiply(normal(parts, float32, std::nullopt, std::nullopt, key),
                                 array(1 / std::sqrt(2.0), float32));
    array samples = squeeze(view(pairs, complex64), -1);
    if (scale) samples = multiply(samples, *scale);
    return loc ? add(*loc, samples) : samples;
  }
  check_floating("normal", dtype);
  array factor(std::sqrt(2.0), dtype);
  if (scale) factor = multiply(factor, astype(*scale, dtype));
  const array samples = multiply(factor, astype(erfinv(symmetric(shape, key)), dtype));
  return loc ? add(astype(*loc, dtype), samples) : samples;
}

array multivariate_normal(const array& mean, const array& cov, const Shape& shape, Dtype dtype,
                          const std::optional<array>& key) {
  if (dtype != float32) {
    fail(ErrorCode::InvalidArgument, "[multivariate_normal] The type is float32, not {}.",
         to_string(dtype));
  }
  if (mean.ndim() < 1 || cov.ndim() < 2 || cov.shape(-1) != cov.shape(-2) ||
      mean.shape(-1) != cov.shape(-1)) {
    fail(ErrorCode::InvalidArgument,
         "[multivariate_normal] A mean of shape {} and covariances of shape {}.",
         to_string(mean.shape()), to_string(cov.shape()));
  }
  Shape whole = broadcast_shapes(
      "multivariate_normal",
      broadcast_shapes("multivariate_normal", Shape(mean.shape().begin(), mean.shape().end() - 1),
                       Shape(cov.shape().begin(), cov.shape().end() - 2)),
      shape);
  whole.push_back(mean.shape(-1));
  const array root = symmetric_root(astype(cov, float32));
  const array samples = normal(whole, float32, std::nullopt, std::nullopt, key);
  return add(mean, squeeze(matmul(expand_dims(samples, -2), root), -2));
}

array randint(const array& low, const array& high, const Shape& shape, Dtype dtype,
              const std::optional<array>& key) {
  if (is_inexact(dtype)) {
    fail(ErrorCode::InvalidArgument, "[randint] {} is not an integer type.", to_string(dtype));
  }
  const array whole = astype(floor(uniform(low, high, shape, float32, key)), dtype);
  // float32 may not represent the bounds.
  const array last = astype(subtract(high, array(1, high.dtype())), dtype);
  return maximum(minimum(whole, last), astype(low, dtype));
}

array bernoulli(const array& p, const std::optional<Shape>& shape,
                const std::optional<array>& key) {
  if (!is_floating(p.dtype())) {
    fail(ErrorCode::InvalidArgument, "[bernoulli] A probability is a float, not {}.",
         to_string(p.dtype()));
  }
  const Shape wanted = shape ? *shape : p.shape();
  // Ensures that probability 1 is always true.
  const array upper(std::nextafter(0x1p32f, std::numeric_limits<float>::max()));
  array result = less(bits(wanted, 4, key), multiply(p, upper));
  if (!(result.shape() == wanted)) {
    fail(ErrorCode::InvalidArgument, "[bernoulli] Probabilities of shape {} for the shape {}.",
         to_string(p.shape()), to_string(wanted));
  }
  return result;
}

array truncated_normal(const array& lower, const array& upper, const std::optional<Shape>& shape,
                       Dtype dtype, const std::optional<array>& key) {
  check_floating("truncated_normal", dtype);
  const Shape wanted =
      shape ? *shape : broadcast_shapes("truncated_normal", lower.shape(), upper.shape());
  const array root(std::sqrt(2.0), dtype);
  const array low = astype(lower, dtype), high = astype(upper, dtype);
  const array u = uniform(erf(divide(low, root)), erf(divide(high, root)), wanted, dtype, key);
  return maximum(minimum(high, multiply(root, erfinv(u))), low);
}

array gumbel(const Shape& shape, Dtype dtype, const std::optional<array>& key) {
  return negative(log(negative(log(uniform(shape, dtype, key)))));
}

array categorical(const array& logits, int axis, const std::optional<Shape>& shape,
                  std::optional<int> num_samples, const std::optional<array>& key) {
  const int at = normal_axis("categorical", axis, logits.ndim());
  Shape reduced = logits.shape();
  reduced.erase(reduced.begin() + at);
  if (shape && num_samples) {
    fail(ErrorCode::InvalidArgument,
         "[categorical] A shape and a number of samples exclude each other.");
  }
  if (num_samples) {
    const array wide = expand_dims(logits, -1);
    Shape wanted = reduced;
    wanted.push_back(*num_samples);
    return sample(wide, at, wanted, key);
  }
  if (shape && !(broadcast_shapes("categorical", *shape, reduced) == *shape)) {
    fail(ErrorCode::InvalidArgument, "[categorical] Logits of shape {} for the shape {}.",
         to_string(logits.shape()), to_string(*shape));
  }
  return sample(logits, at, shape ? *shape : reduced, key);
}

array laplace(const Shape& shape, Dtype dtype, float loc, float scale,
              const std::optional<array>& key) {
  check_floating("laplace", dtype);
  const array u = symmetric(shape, key);
  array samples = astype(multiply(sign(u), log1p(negative(abs(u)))), dtype);
  if (scale != 1) samples = multiply(array(scale, dtype), samples);
  return loc != 0 ? add(array(loc, dtype), samples) : samples;
}

array permutation(const array& x, int axis, const std::optional<array>& key) {
  return take(x, permutation(static_cast<int>(x.shape(axis)), key), axis);
}

array permutation(int n, const std::optional<array>& key) {
  return argsort(bits({n}, 4, key));
}

}  // namespace pippin::mx::random
