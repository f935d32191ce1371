#include "pippin/mx/loops/unary_loops.h"

#include <cmath>
#include <limits>

#include "pippin/mx/loops/function_table.h"
#include "pippin/mx/loops/functions.h"

namespace pippin::mx {
namespace {

// Giles' approximation ("Approximating the erfinv function"), then Newton steps on erf.
double inverse_erf(double y) {
  if (!(y > -1 && y < 1)) {
    if (y == 1) return std::numeric_limits<double>::infinity();
    if (y == -1) return -std::numeric_limits<double>::infinity();
    return std::numeric_limits<double>::quiet_NaN();
  }
  double w = -std::log((1 - y) * (1 + y));
  double p;
  if (w < 5) {
    w -= 2.5;
    p = 2.81022636e-08;
    for (const double c : {3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                           -0.00125372503, -0.00417768164, 0.246640727, 1.50140941}) {
      p = c + p * w;
    }
  } else {
    w = std::sqrt(w) - 3;
    p = -0.000200214257;
    for (const double c : {0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                           -0.0076224613, 0.00943887047, 1.00167406, 2.83297682}) {
      p = c + p * w;
    }
  }
  double x = p * y;
  constexpr double kTwoOverRootPi = 1.1283791670955126;
  for (int i = 0; i < 2; ++i) {
    const double slope = kTwoOverRootPi * std::exp(-x * x);
    if (slope > 0) x -= (std::erf(x) - y) / slope;
  }
  return x;
}

using K = kernels::UnaryOp;
using Op = UnaryOp;

constexpr MakeEntry<Op, K> kEntry;

template <typename T>
concept Real = std::is_floating_point_v<T>;

constexpr auto kAbsolute = [](auto x) {
  if constexpr (Real<decltype(x)>) return std::abs(x);
  return x < 0 ? -Wrapping<decltype(x)>(x) : Wrapping<decltype(x)>(x);
};
constexpr auto kSigmoid = [](Real auto x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
};
constexpr auto kSign = [](auto x) {
  if constexpr (Real<decltype(x)>) return x > 0 ? 1 : x < 0 ? -1 : x;
  return static_cast<decltype(x)>((x > 0) - (x < 0));
};

constexpr std::tuple kFunctions{
    kEntry(Op::Abs, "abs", 1, K::Abs, kAbsolute),
    kEntry(Op::ArcCos, "arccos", 16, {}, [](Real auto x) { return std::acos(x); }),
    kEntry(Op::ArcCosh, "arccosh", 16, {}, [](Real auto x) { return std::acosh(x); }),
    kEntry(Op::ArcSin, "arcsin", 16, {}, [](Real auto x) { return std::asin(x); }),
    kEntry(Op::ArcSinh, "arcsinh", 16, {}, [](Real auto x) { return std::asinh(x); }),
    kEntry(Op::ArcTan, "arctan", 16, {}, [](Real auto x) { return std::atan(x); }),
    kEntry(Op::ArcTanh, "arctanh", 16, {}, [](Real auto x) { return std::atanh(x); }),
    kEntry(Op::BitwiseInvert, "bitwise_invert", 1, {}, [](std::integral auto x) { return ~x; }),
    kEntry(Op::Ceil, "ceil", 1, K::Ceil, [](Real auto x) { return std::ceil(x); }),
    kEntry(Op::Cos, "cos", 16, K::Cos, [](Real auto x) { return std::cos(x); }),
    kEntry(Op::Cosh, "cosh", 16, {}, [](Real auto x) { return std::cosh(x); }),
    kEntry(Op::Erf, "erf", 16, K::Erf, [](Real auto x) { return std::erf(x); }),
    kEntry(Op::ErfInv, "erfinv", 16, {}, [](Real auto x) { return inverse_erf(double{x}); }),
    kEntry(Op::Exp, "exp", 4, K::Exp, [](Real auto x) { return std::exp(x); }),
    kEntry(Op::Expm1, "expm1", 16, {}, [](Real auto x) { return std::expm1(x); }),
    kEntry(Op::Floor, "floor", 1, K::Floor, [](Real auto x) { return std::floor(x); }),
    kEntry(Op::Log, "log", 16, K::Log, [](Real auto x) { return std::log(x); }),
    kEntry(Op::Log10, "log10", 16, {}, [](Real auto x) { return std::log10(x); }),
    kEntry(Op::Log1p, "log1p", 16, {}, [](Real auto x) { return std::log1p(x); }),
    kEntry(Op::Log2, "log2", 16, {}, [](Real auto x) { return std::log2(x); }),
    kEntry(Op::LogicalNot, "logical_not", 1, {}, [](auto x) { return x == 0; }),
    kEntry(Op::Negative, "negative", 1, K::Neg, [](auto x) { return -Wrapping<decltype(x)>(x); }),
    kEntry(Op::Round, "round", 1, K::Round, [](Real auto x) { return std::nearbyint(x); }),
    kEntry(Op::Rsqrt, "rsqrt", 16, {}, [](Real auto x) { return 1 / std::sqrt(x); }),
    kEntry(Op::Sigmoid, "sigmoid", 4, K::Sigmoid, kSigmoid),
    kEntry(Op::Sign, "sign", 1, K::Sign, kSign),
    kEntry(Op::Sin, "sin", 16, K::Sin, [](Real auto x) { return std::sin(x); }),
    kEntry(Op::Sinh, "sinh", 16, {}, [](Real auto x) { return std::sinh(x); }),
    kEntry(Op::Sqrt, "sqrt", 4, K::Sqrt, [](Real auto x) { return std::sqrt(x); }),
    kEntry(Op::Square, "square", 1, K::Square, [](auto x) { return Product()(x, x); }),
    kEntry(Op::Tan, "tan", 16, {}, [](Real auto x) { return std::tan(x); }),
    kEntry(Op::Tanh, "tanh", 4, K::Tanh, [](Real auto x) { return std::tanh(x); }),
};
constexpr auto kNames = names_of(kFunctions);

template <typename At, typename T>
void run(const void* x, void* y, int64_t count) {
  const auto* from = static_cast<const T*>(x);
  auto* to = static_cast<T*>(y);
  if constexpr (At::kEntry.kernel && std::is_same_v<T, float>) {
    elementwise_kernels().unary(*At::kEntry.kernel, from, to, count, 0, 0);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(At::kEntry.function(from[i]));
  }
}

}  // namespace

std::string_view to_string(UnaryOp op) {
  return kNames[static_cast<size_t>(op)];
}

UnaryFunction unary_function(UnaryOp op, Kind kind) {
  return with_entry<kFunctions>(op, [kind](auto at) {
    return with_kind(kind, [](auto type) -> UnaryFunction {
      using T = typename decltype(type)::type;
      if constexpr (decltype(at)::template kTakes<T>) return run<decltype(at), T>;
      return nullptr;
    });
  });
}

int unary_cost(UnaryOp op) {
  return with_entry<kFunctions>(op, [](auto at) { return at.kEntry.cost; });
}

}  // namespace pippin::mx
