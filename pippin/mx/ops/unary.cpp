#include "pippin/mx/ops/unary.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "pippin/base/error.h"
#include "pippin/mx/core/primitive.h"
#include "pippin/mx/loops/elementwise.h"
#include "pippin/mx/ops/binary.h"
#include "pippin/mx/ops/complex.h"
#include "pippin/mx/ops/create.h"
#include "pippin/mx/record/recorder.h"

namespace pippin::mx {
namespace {

class Unary final : public Primitive {
 public:
  explicit Unary(UnaryOp op) : op_(op) {}
  std::string_view name() const noexcept override { return to_string(op_); }
  void eval(Node& out) const override {
    const Kind kind = kind_of(out.dtype, "unary");
    map_unary(out, unary_function(op_, kind), kind, unary_cost(op_));
  }
  void record(Recorder& recorder, const Node& out) const override {
    const Recorder::Value& x = recorder.input(out, 0);
    refuse_narrow_integers(name(), out.dtype);
    const bool is_float = is_floating(out.dtype);
    switch (op_) {
      case UnaryOp::Negative:
        return recorder.define(out, pippin::array::multiply(x, -1.0));
      case UnaryOp::Square:
        if (!is_float) return recorder.define(out, pippin::array::multiply(x, x));
        break;
      case UnaryOp::Expm1:
        return recorder.define(out, pippin::array::subtract(pippin::array::exp(x), 1.0));
      case UnaryOp::Log:
        return recorder.define(out, log_of(x));
      case UnaryOp::Log1p:
        return recorder.define(out, log_of(pippin::array::add(x, 1.0)));
      case UnaryOp::Log2:
        return recorder.define(out, pippin::array::multiply(log_of(x), std::numbers::log2e));
      case UnaryOp::Log10:
        return recorder.define(out, pippin::array::multiply(log_of(x), std::numbers::log10e));
      case UnaryOp::Rsqrt:
        return recorder.define(
            out,
            Recorder::one("rsqrt", {{"x", x}, {"epsilon", mil::Value::of_float(x.type(), 0)}}));
      case UnaryOp::ArcCos:
        return recorder.define_unary(out, "acos");
      case UnaryOp::ArcSin:
        return recorder.define_unary(out, "asin");
      case UnaryOp::ArcTan:
        return recorder.define_unary(out, "atan");
      case UnaryOp::ArcTanh:
        return recorder.define_unary(out, "atanh");
      case UnaryOp::BitwiseInvert: {  // for integers, -1 - x
        if (out.dtype == bool_) return recorder.define_unary(out, "logical_not");
        const auto turned = pippin::array::multiply(x, -1.0);
        return recorder.define(out, pippin::array::subtract(turned, 1.0));
      }
      case UnaryOp::ArcCosh:
      case UnaryOp::ArcSinh:
      case UnaryOp::ErfInv:
        refuse_record(name(), "");
      default:
        break;
    }
    recorder.define_unary(out, name());
  }

 private:
  static Recorder::Value log_of(const Recorder::Value& x) {
    return Recorder::one("log", {{"x", x}, {"epsilon", mil::Value::of_float(x.type(), 0)}});
  }

  UnaryOp op_;
};

// Keeps the type.
template <UnaryOp kOp>
array same(const array& a) {
  if (a.dtype() == complex64) return complex_unary(kOp, a);
  return make(shared_primitive<Unary, kOp>(), a.dtype(), a.shape(), {&a});
}

// For real numbers.
template <UnaryOp kOp>
array real_function(const array& a) {
  if (a.dtype() == complex64) return complex_unary(kOp, a);
  const array x = astype(a, at_least_float(a.dtype()));
  return make(shared_primitive<Unary, kOp>(), x.dtype(), x.shape(), {&x});
}

// The identity for integers.
template <UnaryOp kOp>
array rounding(const array& a) {
  return is_inexact(a.dtype()) ? same<kOp>(a) : a;
}

array infinity_like(const array& a, float sign) {
  return array(sign * std::numeric_limits<float>::infinity(), a.dtype());
}
array always(const array& a, bool value) {
  return full(a.shape(), array(value), bool_);
}

}  // namespace

array abs(const array& a) {
  if (a.dtype() == bool_ || is_unsigned(a.dtype())) return a;
  return same<UnaryOp::Abs>(a);
}
array arccos(const array& a) {
  return real_function<UnaryOp::ArcCos>(a);
}
array arccosh(const array& a) {
  return real_function<UnaryOp::ArcCosh>(a);
}
array arcsin(const array& a) {
  return real_function<UnaryOp::ArcSin>(a);
}
array arcsinh(const array& a) {
  return real_function<UnaryOp::ArcSinh>(a);
}
array arctan(const array& a) {
  return real_function<UnaryOp::ArcTan>(a);
}
array arctanh(const array& a) {
  return real_function<UnaryOp::ArcTanh>(a);
}
array bitwise_invert(const array& a) {
  if (is_inexact(a.dtype())) {
    fail(ErrorCode::InvalidArgument, "[bitwise_invert] {} has no bits to invert.",
         to_string(a.dtype()));
  }
  return a.dtype() == bool_ ? logical_not(a) : same<UnaryOp::BitwiseInvert>(a);
}
array ceil(const array& a) {
  return rounding<UnaryOp::Ceil>(a);
}
array cos(const array& a) {
  return real_function<UnaryOp::Cos>(a);
}
array cosh(const array& a) {
  return real_function<UnaryOp::Cosh>(a);
}
array degrees(const array& a) {
  const Dtype dtype = at_least_float(a.dtype());
  return multiply(a, array(180 / std::numbers::pi, dtype));
}
array erf(const array& a) {
  return real_function<UnaryOp::Erf>(a);
}
array erfinv(const array& a) {
  return real_function<UnaryOp::ErfInv>(a);
}
array exp(const array& a) {
  return real_function<UnaryOp::Exp>(a);
}
array expm1(const array& a) {
  return real_function<UnaryOp::Expm1>(a);
}
array floor(const array& a) {
  return rounding<UnaryOp::Floor>(a);
}
array isnan(const array& a) {
  if (a.dtype() == complex64) return logical_or(isnan(real(a)), isnan(imag(a)));
  return is_floating(a.dtype()) ? not_equal(a, a) : always(a, false);
}
array isinf(const array& a) {
  if (a.dtype() == complex64) return logical_or(isinf(real(a)), isinf(imag(a)));
  return is_floating(a.dtype()) ? equal(abs(a), infinity_like(a, 1)) : always(a, false);
}
array isfinite(const array& a) {
  if (a.dtype() == complex64) return logical_and(isfinite(real(a)), isfinite(imag(a)));
  return is_floating(a.dtype()) ? less(abs(a), infinity_like(a, 1)) : always(a, true);
}
array isposinf(const array& a) {
  return is_inexact(a.dtype()) ? equal(a, infinity_like(a, 1)) : always(a, false);
}
array isneginf(const array& a) {
  return is_inexact(a.dtype()) ? equal(a, infinity_like(a, -1)) : always(a, false);
}
array log(const array& a) {
  return real_function<UnaryOp::Log>(a);
}
array log10(const array& a) {
  return real_function<UnaryOp::Log10>(a);
}
array log1p(const array& a) {
  return real_function<UnaryOp::Log1p>(a);
}
array log2(const array& a) {
  return real_function<UnaryOp::Log2>(a);
}
array logical_not(const array& a) {
  const array x = astype(a, bool_);
  return make(shared_primitive<Unary, UnaryOp::LogicalNot>(), bool_, x.shape(), {&x});
}
array nan_to_num(const array& a, float nan, std::optional<float> posinf,
                 std::optional<float> neginf) {
  if (a.dtype() == complex64) {
    return make_complex(nan_to_num(real(a), nan, posinf, neginf),
                        nan_to_num(imag(a), nan, posinf, neginf));
  }
  if (!is_floating(a.dtype())) return a;
  const FloatInfo info = finfo(a.dtype());
  const Dtype dtype = a.dtype();
  array result = where(isnan(a), array(nan, dtype), a);
  result = where(isposinf(a), array(posinf ? *posinf : info.max, dtype), result);
  return where(isneginf(a), array(neginf ? *neginf : info.min, dtype), result);
}
array negative(const array& a) {
  if (a.dtype() == bool_) {
    fail(ErrorCode::InvalidArgument, "[negative] Not for bool; logical_not is.");
  }
  return same<UnaryOp::Negative>(a);
}
array positive(const array& a) {
  return a;
}
array radians(const array& a) {
  const Dtype dtype = at_least_float(a.dtype());
  return multiply(a, array(std::numbers::pi / 180, dtype));
}
array reciprocal(const array& a) {
  return divide(array(1, at_least_float(a.dtype())), a);
}
array round(const array& a, int decimals) {
  if (decimals == 0) return rounding<UnaryOp::Round>(a);
  const Dtype dtype = at_least_float(a.dtype());
  const double scale = std::pow(10.0, decimals);
  const array scaled = round(multiply(a, array(scale, dtype)));
  return astype(multiply(scaled, array(1 / scale, dtype)), a.dtype());
}
array rsqrt(const array& a) {
  return real_function<UnaryOp::Rsqrt>(a);
}
array sigmoid(const array& a) {
  return real_function<UnaryOp::Sigmoid>(a);
}
array sign(const array& a) {
  return same<UnaryOp::Sign>(a);
}
array sin(const array& a) {
  return real_function<UnaryOp::Sin>(a);
}
array sinh(const array& a) {
  return real_function<UnaryOp::Sinh>(a);
}
array sqrt(const array& a) {
  return real_function<UnaryOp::Sqrt>(a);
}
array square(const array& a) {
  return same<UnaryOp::Square>(a);
}
array stop_gradient(const array& a) {
  return a;
}
array tan(const array& a) {
  return real_function<UnaryOp::Tan>(a);
}
array tanh(const array& a) {
  return real_function<UnaryOp::Tanh>(a);
}
array trunc(const array& a) {
  if (!is_inexact(a.dtype())) return a;
  return where(less(a, array(0, a.dtype())), ceil(a), floor(a));
}

}  // namespace pippin::mx
