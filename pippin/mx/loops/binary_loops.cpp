#include "pippin/mx/loops/binary_loops.h"

#include <cmath>
#include <concepts>

#include "pippin/mx/loops/function_table.h"
#include "pippin/mx/loops/functions.h"

namespace pippin::mx {
namespace {

template <std::integral T>
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

template <std::integral T>
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
  T rest;
  if constexpr (std::is_integral_v<T>) {
    if (b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1))) return 0;
    rest = a % b;
  } else {
    rest = std::fmod(a, b);
  }
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

template <std::integral T>
T shift_right(T a, T b) {
  const auto count = static_cast<uint64_t>(b);
  return static_cast<T>(count < sizeof(T) * 8 ? a >> count : a < 0 ? -1 : 0);
}

template <std::integral T>
T shift_left(T a, T b) {
  const auto count = static_cast<uint64_t>(b);
  return count < sizeof(T) * 8 ? static_cast<T>(static_cast<uint64_t>(a) << count) : T(0);
}

template <std::floating_point T>
T power(T base, T exponent) {
  return std::pow(base, exponent);
}
template <std::floating_point T>
T floor_divide(T a, T b) {
  return std::floor(a / b);
}

using K = kernels::BinaryOp;
using Op = BinaryOp;
constexpr MakeEntry<Op, K> kEntry;

constexpr std::tuple kFunctions{
    kEntry(Op::Add, "add", 1, K::Add, Sum()),
    kEntry(Op::ArcTan2, "arctan2", 16, {},
           [](std::floating_point auto a, auto b) { return std::atan2(a, b); }),
    kEntry(Op::BitwiseAnd, "bitwise_and", 1, {},
           [](std::integral auto a, auto b) { return a & b; }),
    kEntry(Op::BitwiseOr, "bitwise_or", 1, {}, [](std::integral auto a, auto b) { return a | b; }),
    kEntry(Op::BitwiseXor, "bitwise_xor", 1, {},
           [](std::integral auto a, auto b) { return a ^ b; }),
    kEntry(Op::Divide, "divide", 1, K::Div,
           [](std::floating_point auto a, auto b) { return a / b; }),
    kEntry(Op::FloorDivide, "floor_divide", 1, {},
           [](auto a, auto b) { return floor_divide(a, b); }),
    kEntry(Op::LeftShift, "left_shift", 1, {},
           [](std::integral auto a, auto b) { return shift_left(a, b); }),
    kEntry(Op::LogAddExp, "logaddexp", 16, {}, LogAddExp()),
    kEntry(Op::LogicalAnd, "logical_and", 1, {}, LogicalAnd()),
    kEntry(Op::LogicalOr, "logical_or", 1, {}, LogicalOr()),
    kEntry(Op::Maximum, "maximum", 1, K::Maximum, Maximum()),
    kEntry(Op::Minimum, "minimum", 1, K::Minimum, Minimum()),
    kEntry(Op::Multiply, "multiply", 1, K::Mul, Product()),
    kEntry(Op::Power, "power", 16, {}, [](auto a, auto b) { return power(a, b); }),
    kEntry(Op::Remainder, "remainder", 16, {}, [](auto a, auto b) { return remainder(a, b); }),
    kEntry(Op::RightShift, "right_shift", 1, {},
           [](std::integral auto a, auto b) { return shift_right(a, b); }),
    kEntry(Op::Subtract, "subtract", 1, K::Sub,
           [](auto a, auto b) { return Wrapping<decltype(a)>(a) - Wrapping<decltype(a)>(b); }),
};
constexpr auto kNames = names_of(kFunctions);

constexpr MakeEntry<CompareOp, kernels::CompareOp> kCompareEntry;
constexpr std::tuple kComparisons{
    kCompareEntry(CompareOp::Equal, "equal", 1, {}, std::equal_to()),
    kCompareEntry(CompareOp::NotEqual, "not_equal", 1, {}, std::not_equal_to()),
    kCompareEntry(CompareOp::Less, "less", 1, {}, std::less()),
    kCompareEntry(CompareOp::LessEqual, "less_equal", 1, {}, std::less_equal()),
    kCompareEntry(CompareOp::Greater, "greater", 1, {}, std::greater()),
    kCompareEntry(CompareOp::GreaterEqual, "greater_equal", 1, {}, std::greater_equal()),
};
constexpr auto kCompareNames = names_of(kComparisons);

// Y is the type of results.
template <typename At, typename T, typename Y>
void run(const void* a, int64_t a_step, const void* b, int64_t b_step, void* y, int64_t count) {
  const auto* left = static_cast<const T*>(a);
  const auto* right = static_cast<const T*>(b);
  auto* to = static_cast<Y*>(y);
  const auto function = [](T u, T v) { return static_cast<Y>(At::kEntry.function(u, v)); };
  if constexpr (At::kEntry.kernel && std::is_same_v<T, float>) {
    elementwise_kernels().binary(*At::kEntry.kernel, left, a_step, right, b_step, to, count);
  } else if constexpr (At::kEntry.kernel && std::is_same_v<T, int32_t>) {
    elementwise_kernels().binary_i32(*At::kEntry.kernel, left, a_step, right, b_step, to, count);
  } else if (a_step == 1 && b_step == 1) {
    for (int64_t i = 0; i < count; ++i) to[i] = function(left[i], right[i]);
  } else if (b_step == 0 && count > 0) {
    const T value = *right;
    for (int64_t i = 0; i < count; ++i) to[i] = function(left[i * a_step], value);
  } else if (count > 0) {
    const T value = *left;
    for (int64_t i = 0; i < count; ++i) to[i] = function(value, right[i]);
  }
}

}  // namespace

std::string_view to_string(BinaryOp op) {
  return kNames[static_cast<size_t>(op)];
}
std::string_view to_string(CompareOp op) {
  return kCompareNames[static_cast<size_t>(op)];
}

BinaryFunction binary_function(BinaryOp op, Kind kind) {
  return with_entry<kFunctions>(op, [kind](auto at) {
    return with_kind(kind, [](auto type) -> BinaryFunction {
      using T = typename decltype(type)::type;
      if constexpr (decltype(at)::template kTakes<T, T>) return run<decltype(at), T, T>;
      return nullptr;
    });
  });
}

BinaryFunction compare_function(CompareOp op, Kind kind) {
  return with_entry<kComparisons>(op, [kind](auto at) {
    return with_kind(kind, [](auto type) -> BinaryFunction {
      return run<decltype(at), typename decltype(type)::type, uint8_t>;
    });
  });
}

int binary_cost(BinaryOp op) {
  return with_entry<kFunctions>(op, [](auto at) { return at.kEntry.cost; });
}

}  // namespace pippin::mx
