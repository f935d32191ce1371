#include "pippin/mx/loops/unary_loops.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "pippin/kernels/elementwise/elementwise.h"

namespace pippin::mx {
namespace {

constexpr std::string_view kNames[kNumUnaryOps] = {
    "abs",         "arccos",   "arccosh",        "arcsin", "arcsinh",
    "arctan",      "arctanh",  "bitwise_invert", "ceil",   "cos",
    "cosh",        "erf",      "erfinv",         "exp",    "expm1",
    "floor",       "log",      "log10",          "log1p",  "log2",
    "logical_not", "negative", "round",          "rsqrt",  "sigmoid",
    "sign",        "sin",      "sinh",           "sqrt",   "square",
    "tan",         "tanh"};

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

template <UnaryOp kOp, typename T>
T apply(T x) {
  if constexpr (kOp == UnaryOp::Square) {
    if constexpr (std::is_floating_point_v<T>) {
      return x * x;
    } else {
      return static_cast<T>(static_cast<uint64_t>(x) * static_cast<uint64_t>(x));
    }
  } else if constexpr (kOp == UnaryOp::Sign) {
    if constexpr (std::is_floating_point_v<T>) {
      return x > 0 ? T(1) : x < 0 ? T(-1) : x;
    } else {
      return static_cast<T>((x > 0) - (x < 0));
    }
  } else if constexpr (kOp == UnaryOp::LogicalNot) {
    return static_cast<T>(x == 0);
  } else if constexpr (std::is_floating_point_v<T>) {
    switch (kOp) {
      case UnaryOp::Abs:
        return std::abs(x);
      case UnaryOp::Negative:
        return -x;
      case UnaryOp::ArcCos:
        return std::acos(x);
      case UnaryOp::ArcCosh:
        return std::acosh(x);
      case UnaryOp::ArcSin:
        return std::asin(x);
      case UnaryOp::ArcSinh:
        return std::asinh(x);
      case UnaryOp::ArcTan:
        return std::atan(x);
      case UnaryOp::ArcTanh:
        return std::atanh(x);
      case UnaryOp::Ceil:
        return std::ceil(x);
      case UnaryOp::Cos:
        return std::cos(x);
      case UnaryOp::Cosh:
        return std::cosh(x);
      case UnaryOp::Erf:
        return std::erf(x);
      case UnaryOp::ErfInv:
        return static_cast<T>(inverse_erf(static_cast<double>(x)));
      case UnaryOp::Exp:
        return std::exp(x);
      case UnaryOp::Expm1:
        return std::expm1(x);
      case UnaryOp::Floor:
        return std::floor(x);
      case UnaryOp::Log:
        return std::log(x);
      case UnaryOp::Log10:
        return std::log10(x);
      case UnaryOp::Log1p:
        return std::log1p(x);
      case UnaryOp::Log2:
        return std::log2(x);
      case UnaryOp::Round:
        return std::nearbyint(x);
      case UnaryOp::Rsqrt:
        return 1 / std::sqrt(x);
      case UnaryOp::Sigmoid:
        return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
      case UnaryOp::Sin:
        return std::sin(x);
      case UnaryOp::Sinh:
        return std::sinh(x);
      case UnaryOp::Sqrt:
        return std::sqrt(x);
      case UnaryOp::Tan:
        return std::tan(x);
      default:
        return std::tanh(x);
    }
  } else if constexpr (kOp == UnaryOp::Abs) {
    return static_cast<T>(x < 0 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x));
  } else if constexpr (kOp == UnaryOp::Negative) {
    return static_cast<T>(0 - static_cast<uint64_t>(x));
  } else {
    return static_cast<T>(~x);  // BitwiseInvert
  }
}

template <UnaryOp kOp, typename T>
void run(const void* x, void* y, int64_t count) {
  const auto* from = static_cast<const T*>(x);
  auto* to = static_cast<T*>(y);
  for (int64_t i = 0; i < count; ++i) to[i] = apply<kOp>(from[i]);
}

constexpr bool is_for_integers(UnaryOp op) {
  return op == UnaryOp::Abs || op == UnaryOp::Negative || op == UnaryOp::Sign ||
         op == UnaryOp::Square || op == UnaryOp::BitwiseInvert || op == UnaryOp::LogicalNot;
}

template <UnaryOp kOp>
UnaryFunction of_kind(Kind kind) {
  if constexpr (kOp != UnaryOp::BitwiseInvert) {
    if (kind == Kind::F32) return run<kOp, float>;
    if (kind == Kind::F64) return run<kOp, double>;
  }
  if constexpr (is_for_integers(kOp)) {
    if (kind == Kind::I32) return run<kOp, int32_t>;
    if (kind == Kind::I64) return run<kOp, int64_t>;
    if (kind == Kind::U64) return run<kOp, uint64_t>;
  }
  return nullptr;
}

const kernels::ElementwiseKernels& simd() {
  static const auto& table = kernels::choose_elementwise(cpu_features());
  return table;
}

template <kernels::UnaryOp kOp>
void run_simd(const void* x, void* y, int64_t count) {
  simd().unary(kOp, static_cast<const float*>(x), static_cast<float*>(y), count, 0, 0);
}

// The project's kernels, if they have the function.
UnaryFunction simd_function(UnaryOp op) {
  switch (op) {
    case UnaryOp::Abs:
      return run_simd<kernels::UnaryOp::Abs>;
    case UnaryOp::Ceil:
      return run_simd<kernels::UnaryOp::Ceil>;
    case UnaryOp::Cos:
      return run_simd<kernels::UnaryOp::Cos>;
    case UnaryOp::Erf:
      return run_simd<kernels::UnaryOp::Erf>;
    case UnaryOp::Exp:
      return run_simd<kernels::UnaryOp::Exp>;
    case UnaryOp::Floor:
      return run_simd<kernels::UnaryOp::Floor>;
    case UnaryOp::Log:
      return run_simd<kernels::UnaryOp::Log>;
    case UnaryOp::Negative:
      return run_simd<kernels::UnaryOp::Neg>;
    case UnaryOp::Round:
      return run_simd<kernels::UnaryOp::Round>;
    case UnaryOp::Sigmoid:
      return run_simd<kernels::UnaryOp::Sigmoid>;
    case UnaryOp::Sign:
      return run_simd<kernels::UnaryOp::Sign>;
    case UnaryOp::Sin:
      return run_simd<kernels::UnaryOp::Sin>;
    case UnaryOp::Sqrt:
      return run_simd<kernels::UnaryOp::Sqrt>;
    case UnaryOp::Square:
      return run_simd<kernels::UnaryOp::Square>;
    case UnaryOp::Tanh:
      return run_simd<kernels::UnaryOp::Tanh>;
    default:
      return nullptr;
  }
}

template <int... kOps>
UnaryFunction find(UnaryOp op, Kind kind, std::integer_sequence<int, kOps...>) {
  static constexpr UnaryFunction (*kOfKind[])(Kind) = {of_kind<static_cast<UnaryOp>(kOps)>...};
  return kOfKind[static_cast<int>(op)](kind);
}

}  // namespace

std::string_view to_string(UnaryOp op) {
  return kNames[static_cast<int>(op)];
}

UnaryFunction unary_function(UnaryOp op, Kind kind) {
  if (kind == Kind::F32) {
    if (const UnaryFunction function = simd_function(op)) return function;
  }
  return find(op, kind, std::make_integer_sequence<int, kNumUnaryOps>());
}

int unary_cost(UnaryOp op) {
  switch (op) {
    case UnaryOp::Abs:
    case UnaryOp::BitwiseInvert:
    case UnaryOp::Ceil:
    case UnaryOp::Floor:
    case UnaryOp::LogicalNot:
    case UnaryOp::Negative:
    case UnaryOp::Round:
    case UnaryOp::Sign:
    case UnaryOp::Square:
      return 1;
    case UnaryOp::Exp:
    case UnaryOp::Sigmoid:
    case UnaryOp::Sqrt:
    case UnaryOp::Tanh:
      return 4;
    default:
      return 16;
  }
}

}  // namespace pippin::mx
