#include "pippin/mx/loops/binary_loops.h"

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "pippin/kernels/elementwise/elementwise.h"

namespace pippin::mx {
namespace {

constexpr std::string_view kNames[kNumBinaryOps] = {
    "add",          "arctan2",    "bitwise_and", "bitwise_or",  "bitwise_xor", "divide",
    "floor_divide", "left_shift", "logaddexp",   "logical_and", "logical_or",  "maximum",
    "minimum",      "multiply",   "power",       "remainder",   "right_shift", "subtract"};
constexpr std::string_view kCompareNames[kNumCompareOps] = {
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal"};

template <BinaryOp kOp, typename T>
T apply_float(T a, T b) {
  switch (kOp) {
    case BinaryOp::Add:
      return a + b;
    case BinaryOp::Subtract:
      return a - b;
    case BinaryOp::Multiply:
      return a * b;
    case BinaryOp::Divide:
      return a / b;
    case BinaryOp::FloorDivide:
      return std::floor(a / b);
    case BinaryOp::Remainder: {
      const T rest = std::fmod(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
    case BinaryOp::Maximum:
      return a > b || a != a ? a : b;
    case BinaryOp::Minimum:
      return a < b || a != a ? a : b;
    case BinaryOp::Power:
      return std::pow(a, b);
    case BinaryOp::ArcTan2:
      return std::atan2(a, b);
    case BinaryOp::LogicalAnd:
      return a != 0 && b != 0;
    case BinaryOp::LogicalOr:
      return a != 0 || b != 0;
    default: {  // LogAddExp
      if (a != a || b != b) return a + b;
      const T high = a > b ? a : b, low = a > b ? b : a;
      if (low == -std::numeric_limits<T>::infinity() ||
          high == std::numeric_limits<T>::infinity()) {
        return high;
      }
      return high + std::log1p(std::exp(low - high));
    }
  }
}

template <typename T>
T power(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) {
      return base == 1 ? 1 : base == -1 ? (exponent % 2 != 0 ? -1 : 1) : 0;
    }
  }
  uint64_t result = 1, factor = static_cast<uint64_t>(base);
  for (auto left = static_cast<uint64_t>(exponent); left != 0; left >>= 1) {
    if ((left & 1) != 0) result *= factor;
    factor *= factor;
  }
  return static_cast<T>(result);
}

template <typename T>
T floor_divide(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return static_cast<T>(0 - static_cast<uint64_t>(a));  // the smallest integer wraps
  }
  const T quotient = a / b;
  return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

template <typename T>
T remainder(T a, T b) {
  if (b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1))) return 0;
  const T rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

template <BinaryOp kOp, typename T>
T apply_integer(T a, T b) {
  const auto u = static_cast<uint64_t>(a), v = static_cast<uint64_t>(b);
  constexpr uint64_t kBits = sizeof(T) * 8;
  switch (kOp) {
    case BinaryOp::Add:
      return static_cast<T>(u + v);
    case BinaryOp::Subtract:
      return static_cast<T>(u - v);
    case BinaryOp::Multiply:
      return static_cast<T>(u * v);
    case BinaryOp::FloorDivide:
      return floor_divide(a, b);
    case BinaryOp::Remainder:
      return remainder(a, b);
    case BinaryOp::Maximum:
      return a > b ? a : b;
    case BinaryOp::Minimum:
      return a < b ? a : b;
    case BinaryOp::Power:
      return power(a, b);
    case BinaryOp::BitwiseAnd:
      return a & b;
    case BinaryOp::BitwiseOr:
      return a | b;
    case BinaryOp::BitwiseXor:
      return a ^ b;
    case BinaryOp::LeftShift:
      return v < kBits ? static_cast<T>(u << v) : T(0);
    case BinaryOp::RightShift:
      return static_cast<T>(v < kBits ? a >> v : a < 0 ? -1 : 0);
    case BinaryOp::LogicalAnd:
      return a != 0 && b != 0;
    default:  // LogicalOr
      return a != 0 || b != 0;
  }
}

constexpr bool is_for_integers(BinaryOp op) {
  return op != BinaryOp::Divide && op != BinaryOp::ArcTan2 && op != BinaryOp::LogAddExp;
}
constexpr bool is_for_floats(BinaryOp op) {
  return op != BinaryOp::BitwiseAnd && op != BinaryOp::BitwiseOr && op != BinaryOp::BitwiseXor &&
         op != BinaryOp::LeftShift && op != BinaryOp::RightShift;
}

template <typename T, typename Y, typename Function>
void run_with(const void* a, int64_t a_step, const void* b, int64_t b_step, Y* y, int64_t count,
              Function function) {
  const auto* left = static_cast<const T*>(a);
  const auto* right = static_cast<const T*>(b);
  if (a_step == 1 && b_step == 1) {
    for (int64_t i = 0; i < count; ++i) y[i] = function(left[i], right[i]);
  } else if (b_step == 0 && count > 0) {
    const T value = *right;
    for (int64_t i = 0; i < count; ++i) y[i] = function(left[i * a_step], value);
  } else if (count > 0) {
    const T value = *left;
    for (int64_t i = 0; i < count; ++i) y[i] = function(value, right[i]);
  }
}

template <BinaryOp kOp, typename T>
void run(const void* a, int64_t a_step, const void* b, int64_t b_step, void* y, int64_t count) {
  run_with<T>(a, a_step, b, b_step, static_cast<T*>(y), count, [](T u, T v) {
    if constexpr (std::is_floating_point_v<T>) {
      return apply_float<kOp>(u, v);
    } else {
      return apply_integer<kOp>(u, v);
    }
  });
}

template <CompareOp kOp, typename T>
void run_compare(const void* a, int64_t a_step, const void* b, int64_t b_step, uint8_t* y,
                 int64_t count) {
  run_with<T>(a, a_step, b, b_step, y, count, [](T u, T v) -> uint8_t {
    switch (kOp) {
      case CompareOp::Equal:
        return u == v;
      case CompareOp::NotEqual:
        return u != v;
      case CompareOp::Less:
        return u < v;
      case CompareOp::LessEqual:
        return u <= v;
      case CompareOp::Greater:
        return u > v;
      default:
        return u >= v;
    }
  });
}

template <BinaryOp kOp>
BinaryFunction of_kind(Kind kind) {
  if constexpr (is_for_floats(kOp)) {
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

template <CompareOp kOp>
CompareFunction compare_of_kind(Kind kind) {
  return with_kind(kind, [](auto type) -> CompareFunction {
    return run_compare<kOp, typename decltype(type)::type>;
  });
}

const kernels::ElementwiseKernels& simd() {
  static const auto& table = kernels::choose_elementwise(cpu_features());
  return table;
}

template <kernels::BinaryOp kOp>
void run_simd(const void* a, int64_t a_step, const void* b, int64_t b_step, void* y,
              int64_t count) {
  simd().binary(kOp, static_cast<const float*>(a), a_step, static_cast<const float*>(b), b_step,
                static_cast<float*>(y), count);
}
template <kernels::BinaryOp kOp>
void run_simd_i32(const void* a, int64_t a_step, const void* b, int64_t b_step, void* y,
                  int64_t count) {
  simd().binary_i32(kOp, static_cast<const int32_t*>(a), a_step, static_cast<const int32_t*>(b),
                    b_step, static_cast<int32_t*>(y), count);
}

// The project's kernels, if they have the function.
BinaryFunction simd_function(BinaryOp op, Kind kind) {
  const bool is_float = kind == Kind::F32;
  if (!is_float && kind != Kind::I32) return nullptr;
  switch (op) {
    case BinaryOp::Add:
      return is_float ? run_simd<kernels::BinaryOp::Add> : run_simd_i32<kernels::BinaryOp::Add>;
    case BinaryOp::Subtract:
      return is_float ? run_simd<kernels::BinaryOp::Sub> : run_simd_i32<kernels::BinaryOp::Sub>;
    case BinaryOp::Multiply:
      return is_float ? run_simd<kernels::BinaryOp::Mul> : run_simd_i32<kernels::BinaryOp::Mul>;
    case BinaryOp::Divide:
      return is_float ? run_simd<kernels::BinaryOp::Div> : nullptr;
    case BinaryOp::Maximum:
      return is_float ? run_simd<kernels::BinaryOp::Maximum>
                      : run_simd_i32<kernels::BinaryOp::Maximum>;
    case BinaryOp::Minimum:
      return is_float ? run_simd<kernels::BinaryOp::Minimum>
                      : run_simd_i32<kernels::BinaryOp::Minimum>;
    default:
      return nullptr;
  }
}

template <int... kOps>
BinaryFunction find(BinaryOp op, Kind kind, std::integer_sequence<int, kOps...>) {
  static constexpr BinaryFunction (*kOfKind[])(Kind) = {of_kind<static_cast<BinaryOp>(kOps)>...};
  return kOfKind[static_cast<int>(op)](kind);
}
template <int... kOps>
CompareFunction find(CompareOp op, Kind kind, std::integer_sequence<int, kOps...>) {
  static constexpr CompareFunction (*kOfKind[])(Kind) = {
      compare_of_kind<static_cast<CompareOp>(kOps)>...};
  return kOfKind[static_cast<int>(op)](kind);
}

}  // namespace

std::string_view to_string(BinaryOp op) {
  return kNames[static_cast<int>(op)];
}
std::string_view to_string(CompareOp op) {
  return kCompareNames[static_cast<int>(op)];
}

BinaryFunction binary_function(BinaryOp op, Kind kind) {
  if (const BinaryFunction function = simd_function(op, kind)) return function;
  return find(op, kind, std::make_integer_sequence<int, kNumBinaryOps>());
}

CompareFunction compare_function(CompareOp op, Kind kind) {
  return find(op, kind, std::make_integer_sequence<int, kNumCompareOps>());
}

int binary_cost(BinaryOp op) {
  switch (op) {
    case BinaryOp::ArcTan2:
    case BinaryOp::LogAddExp:
    case BinaryOp::Power:
    case BinaryOp::Remainder:
      return 16;
    default:
      return 1;
  }
}

}  // namespace pippin::mx
