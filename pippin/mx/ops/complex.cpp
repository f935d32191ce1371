#include "pippin/mx/ops/complex.h"

#include <numbers>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/mx/core/copy.h"
#include "pippin/mx/core/primitive.h"
#include "pippin/mx/ops/axes.h"
#include "pippin/mx/ops/binary.h"
#include "pippin/mx/ops/create.h"
#include "pippin/mx/ops/shape_ops.h"

namespace pippin::mx {
namespace {

class MakeComplex final : public Primitive {
 public:
  std::string_view name() const noexcept override { return "complex"; }
  void eval(Node& out) const override {
    out.allocate();
    Strides apart = out.strides;
    for (int64_t& stride : apart) stride *= 2;
    for (size_t part = 0; part < 2; ++part) {
      const Node& x = *out.inputs[part];
      const Strides strides = broadcast_strides(x.shape, x.strides, out.shape);
      mx::copy(out.shape, {x.data, x.dtype, &strides}, {out.data + part * 4, float32, &apart});
    }
  }
};

// A complex number in double precision.
struct Pair {
  array re, im;
};

Pair pair_of(const array& a) {
  return {astype(real(a), float64), astype(imag(astype(a, complex64)), float64)};
}
array number(double value) {
  return array(value, float64);
}
Pair constant(double re, double im) {
  return {number(re), number(im)};
}
array joined(const Pair& z) {
  return make_complex(astype(z.re, float32), astype(z.im, float32));
}

Pair plus(const Pair& a, const Pair& b) {
  return {a.re + b.re, a.im + b.im};
}
Pair minus(const Pair& a, const Pair& b) {
  return {a.re - b.re, a.im - b.im};
}
Pair times(const Pair& a, const Pair& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
Pair times(const Pair& a, double scale) {
  return {a.re * scale, a.im * scale};
}
Pair over(const Pair& a, const Pair& b) {
  const array size = b.re * b.re + b.im * b.im;
  return {(a.re * b.re + a.im * b.im) / size, (a.im * b.re - a.re * b.im) / size};
}
// i z
Pair turned(const Pair& z) {
  return {negative(z.im), z.re};
}
// The squares of float32 numbers fit into a double.
array size_of(const Pair& z) {
  return sqrt(z.re * z.re + z.im * z.im);
}
Pair exp_of(const Pair& z) {
  const array size = exp(z.re);
  return {size * cos(z.im), size * sin(z.im)};
}
Pair log_of(const Pair& z) {
  return {log(size_of(z)), arctan2(z.im, z.re)};
}
Pair sqrt_of(const Pair& z) {
  // Computes the larger part without cancellation, and the other from it.
  const array large = sqrt((size_of(z) + abs(z.re)) * 0.5);
  const array small = where(large == 0.0, large, abs(z.im) / (large * 2.0));
  const array is_right = z.re >= 0.0;
  const array sign_of = where(z.im < 0.0, number(-1), number(1));
  return {where(is_right, large, small), where(is_right, small, large) * sign_of};
}
Pair sin_of(const Pair& z) {
  return {sin(z.re) * cosh(z.im), cos(z.re) * sinh(z.im)};
}
Pair cos_of(const Pair& z) {
  return {cos(z.re) * cosh(z.im), negative(sin(z.re) * sinh(z.im))};
}
Pair sinh_of(const Pair& z) {
  return {sinh(z.re) * cos(z.im), cosh(z.re) * sin(z.im)};
}
Pair cosh_of(const Pair& z) {
  return {cosh(z.re) * cos(z.im), sinh(z.re) * sin(z.im)};
}
Pair arcsin_of(const Pair& z) {
  const Pair root = sqrt_of(minus(constant(1, 0), times(z, z)));
  return times(turned(log_of(plus(turned(z), root))), -1);
}
Pair arctanh_of(const Pair& z) {
  const Pair one = constant(1, 0);
  return times(minus(log_of(plus(one, z)), log_of(minus(one, z))), 0.5);
}
Pair power_of(const Pair& a, const Pair& b) {
  const Pair result = exp_of(times(b, log_of(a)));
  // 0 has no logarithm: 0 to the power 0 is 1, to the power NaN it is NaN, and otherwise 0.
  const array is_zero = size_of(a) == 0.0, is_zeroth = size_of(b) == 0.0;
  const array of_zero = where(is_zeroth, number(1), b.re * 0.0);
  return {where(is_zero, of_zero, result.re), where(is_zero, number(0), result.im)};
}
Pair logaddexp_of(const Pair& a, const Pair& b) {
  const array is_first = a.re >= b.re;
  const Pair high{where(is_first, a.re, b.re), where(is_first, a.im, b.im)};
  const Pair low{where(is_first, b.re, a.re), where(is_first, b.im, a.im)};
  return plus(high, log_of(plus(constant(1, 0), exp_of(minus(low, high)))));
}

[[noreturn]] void refuse(std::string_view op) {
  fail(ErrorCode::InvalidArgument, "[{}] Not for complex64.", op);
}

Pair apply(UnaryOp op, const Pair& z) {
  const Pair one = constant(1, 0);
  switch (op) {
    case UnaryOp::ArcCos:
      return minus(constant(std::numbers::pi / 2, 0), arcsin_of(z));
    case UnaryOp::ArcCosh:
      return log_of(plus(z, times(sqrt_of(plus(z, one)), sqrt_of(minus(z, one)))));
    case UnaryOp::ArcSin:
      return arcsin_of(z);
    case UnaryOp::ArcSinh:
      return log_of(plus(z, sqrt_of(plus(times(z, z), one))));
    case UnaryOp::ArcTan:
      return times(turned(arctanh_of(turned(z))), -1);
    case UnaryOp::ArcTanh:
      return arctanh_of(z);
    case UnaryOp::Cos:
      return cos_of(z);
    case UnaryOp::Cosh:
      return cosh_of(z);
    case UnaryOp::Exp:
      return exp_of(z);
    case UnaryOp::Log:
      return log_of(z);
    case UnaryOp::Log10:
      return times(log_of(z), std::numbers::log10e);
    case UnaryOp::Log1p:
      return log_of(plus(one, z));
    case UnaryOp::Log2:
      return times(log_of(z), std::numbers::log2e);
    case UnaryOp::Negative:
      return {negative(z.re), negative(z.im)};
    case UnaryOp::Round:
      return {round(z.re), round(z.im)};
    case UnaryOp::Rsqrt:
      return over(one, sqrt_of(z));
    case UnaryOp::Sign: {
      const array size = size_of(z), is_zero = size == 0.0;
      return {where(is_zero, size, z.re / size), where(is_zero, size, z.im / size)};
    }
    case UnaryOp::Sin:
      return sin_of(z);
    case UnaryOp::Sinh:
      return sinh_of(z);
    case UnaryOp::Sqrt:
      return sqrt_of(z);
    case UnaryOp::Square:
      return times(z, z);
    case UnaryOp::Tan:
      return over(sin_of(z), cos_of(z));
    case UnaryOp::Tanh:
      return over(sinh_of(z), cosh_of(z));
    default:
      refuse(to_string(op));
  }
}

Pair apply(BinaryOp op, const Pair& a, const Pair& b) {
  switch (op) {
    case BinaryOp::Add:
      return plus(a, b);
    case BinaryOp::Subtract:
      return minus(a, b);
    case BinaryOp::Multiply:
      return times(a, b);
    case BinaryOp::Divide:
      return over(a, b);
    case BinaryOp::Power:
      return power_of(a, b);
    case BinaryOp::LogAddExp:
      return logaddexp_of(a, b);
    default:
      refuse(to_string(op));
  }
}

}  // namespace

array make_complex(const array& re, const array& im) {
  return make(shared_primitive<MakeComplex>(), complex64,
              broadcast_shapes("complex", re.shape(), im.shape()), {&re, &im});
}

array complex_unary(UnaryOp op, const array& a) {
  const Pair z = pair_of(a);
  return op == UnaryOp::Abs ? astype(size_of(z), float32) : joined(apply(op, z));
}

array complex_binary(BinaryOp op, const array& a, const array& b) {
  return joined(apply(op, pair_of(a), pair_of(b)));
}

array complex_compare(CompareOp op, const array& a, const array& b) {
  const Pair x = pair_of(a), y = pair_of(b);
  const auto less_than = [](const Pair& u, const Pair& v) {
    return logical_or(u.re < v.re, logical_and(u.re == v.re, u.im < v.im));
  };
  array same = logical_and(x.re == y.re, x.im == y.im);
  switch (op) {
    case CompareOp::Equal:
      return same;
    case CompareOp::NotEqual:
      return logical_not(same);
    case CompareOp::Less:
      return less_than(x, y);
    case CompareOp::LessEqual:
      return logical_or(less_than(x, y), same);
    case CompareOp::Greater:
      return less_than(y, x);
    default:
      return logical_or(less_than(y, x), same);
  }
}

array complex_prod(const array& a, int axis) {
  array result = moveaxis(a, axis, 0);
  if (result.shape(0) == 0) {
    Shape shape = result.shape();
    shape[0] = 1;
    result = ones(shape, complex64);
  }
  // Multiplies the second half into the first until one element is left.
  while (result.shape(0) > 1) {
    const int64_t size = result.shape(0), half = size / 2;
    const auto part = [&](int64_t begin, int64_t end) { return slice_axis(result, 0, begin, end); };
    const array folded = multiply(part(0, half), part(half, 2 * half));
    result = size % 2 == 0 ? folded : concatenate({folded, part(2 * half, size)}, 0);
  }
  return moveaxis(result, 0, axis);
}

}  // namespace pippin::mx
