// The reference: <cmath> in double, rounded once.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "pippin/base/numbers/float16.h"
#include "pippin/kernels/elementwise/args.h"

namespace pippin::kernels {
namespace {

constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kSqrtTwoOverPi = 0.79788456080286535588;

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

// The limit at infinity, where x * 0 would give NaN.
double gate(double x, double factor) {
  return factor == 0 ? 0.0 : x * factor;
}

double unary_value(UnaryOp op, double x, double alpha, double beta) {
  switch (op) {
    case UnaryOp::Abs:
      return std::fabs(x);
    case UnaryOp::Ceil:
      return std::ceil(x);
    case UnaryOp::Clip:
      return std::isnan(x) ? x : std::min(std::max(x, alpha), beta);
    case UnaryOp::Cos:
      return std::cos(x);
    case UnaryOp::Elu:
      return x > 0 ? x : alpha * std::expm1(x);
    case UnaryOp::Erf:
      return std::erf(x);
    case UnaryOp::Exp:
      return std::exp(x);
    case UnaryOp::Exp2:
      return std::exp2(x);
    case UnaryOp::Floor:
      return std::floor(x);
    case UnaryOp::Gelu:
      return gate(x, 0.5 * std::erfc(-x * kSqrtHalf));
    case UnaryOp::GeluSigmoid:
      return gate(x, sigmoid(1.702 * x));
    case UnaryOp::GeluTanh:
      return gate(x, sigmoid(2 * kSqrtTwoOverPi * (x + 0.044715 * x * x * x)));
    case UnaryOp::HardSwish:
      return x * std::min(std::max(alpha * x + beta, 0.0), 1.0);
    case UnaryOp::Inverse:
      return 1 / (x + alpha);
    case UnaryOp::LeakyRelu:
      return x >= 0 ? x : alpha * x;
    case UnaryOp::Linear:
      return alpha * x + beta;
    case UnaryOp::Log:
      return std::log(x + alpha);
    case UnaryOp::Neg:
      return -x;
    case UnaryOp::Relu:
      return x < 0 ? 0 : x;
    case UnaryOp::Relu6:
      return std::isnan(x) ? x : std::min(std::max(x, 0.0), 6.0);
    case UnaryOp::Round:
      return std::nearbyint(x);
    case UnaryOp::Rsqrt:
      return 1 / std::sqrt(x + alpha);
    case UnaryOp::ScaledTanh:
      return alpha * std::tanh(beta * x);
    case UnaryOp::Sigmoid:
      return sigmoid(x);
    case UnaryOp::SigmoidHard:
      return std::isnan(x) ? x : std::min(std::max(alpha * x + beta, 0.0), 1.0);
    case UnaryOp::Sign:
      return x > 0 ? 1 : x < 0 ? -1 : x;
    case UnaryOp::Silu:
      return gate(x, sigmoid(x));
    case UnaryOp::Sin:
      return std::sin(x);
    case UnaryOp::Softplus:
      return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
    case UnaryOp::Softsign:
      return std::isinf(x) ? std::copysign(1.0, x) : x / (1 + std::fabs(x));
    case UnaryOp::Sqrt:
      return std::sqrt(x);
    case UnaryOp::Square:
      return x * x;
    case UnaryOp::Tanh:
      return std::tanh(x);
    case UnaryOp::Threshold:
      return std::isnan(x) ? x : std::max(x, alpha);
  }
  return x;
}

float binary_value(BinaryOp op, float a, float b) {
  switch (op) {
    case BinaryOp::Add:
      return a + b;
    case BinaryOp::Sub:
      return a - b;
    case BinaryOp::Mul:
      return a * b;
    case BinaryOp::Div:
      return a / b;
    case BinaryOp::FloorDiv:
      return std::floor(a / b);
    case BinaryOp::Mod: {
      const float rest = std::fmod(a, b);  // exact, with the sign of a
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
    case BinaryOp::Maximum:
      return std::isnan(a) || a > b ? a : b;
    case BinaryOp::Minimum:
      return std::isnan(a) || a < b ? a : b;
    case BinaryOp::Pow:
      return std::pow(a, b);
  }
  return a;
}

uint32_t power(uint32_t base, int32_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    return base == UINT32_MAX ? (exponent % 2 != 0 ? base : 1) : 0;
  }
  uint32_t result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= base;
    base *= base;
  }
  return result;
}

int32_t binary_value(BinaryOp op, int32_t a, int32_t b) {
  const uint32_t u = static_cast<uint32_t>(a);
  const uint32_t v = static_cast<uint32_t>(b);
  const auto floor_div = [&]() -> int64_t {
    const int64_t quotient = int64_t{a} / b;
    return int64_t{a} % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
  };
  switch (op) {
    case BinaryOp::Add:
      return static_cast<int32_t>(u + v);
    case BinaryOp::Sub:
      return static_cast<int32_t>(u - v);
    case BinaryOp::Mul:
      return static_cast<int32_t>(u * v);
    case BinaryOp::Div:
    case BinaryOp::FloorDiv:
      return b == 0 ? 0 : static_cast<int32_t>(floor_div());
    case BinaryOp::Mod:
      return b == 0 ? 0 : static_cast<int32_t>(a - b * floor_div());
    case BinaryOp::Maximum:
      return a > b ? a : b;
    case BinaryOp::Minimum:
      return a < b ? a : b;
    case BinaryOp::Pow:
      return static_cast<int32_t>(power(u, b));
  }
  return a;
}

template <typename T>
bool holds(CompareOp op, T a, T b) {
  switch (op) {
    case CompareOp::Equal:
      return a == b;
    case CompareOp::NotEqual:
      return a != b;
    case CompareOp::Less:
      return a < b;
    case CompareOp::LessEqual:
      return a <= b;
    case CompareOp::Greater:
      return a > b;
    case CompareOp::GreaterEqual:
      return a >= b;
  }
  return false;
}

void unary(UnaryOp op, const float* x, float* y, int64_t n, float alpha, float beta) noexcept {
  for (int64_t i = 0; i < n; ++i) {
    y[i] = static_cast<float>(unary_value(op, double{x[i]}, double{alpha}, double{beta}));
  }
}

template <typename T>
void binary(BinaryOp op, const T* a, int64_t a_step, const T* b, int64_t b_step, T* y,
            int64_t n) noexcept {
  for (int64_t i = 0; i < n; ++i) y[i] = binary_value(op, a[i * a_step], b[i * b_step]);
}

template <typename T>
void compare(CompareOp op, const T* a, int64_t a_step, const T* b, int64_t b_step, uint8_t* y,
             int64_t n) noexcept {
  for (int64_t i = 0; i < n; ++i) y[i] = holds(op, a[i * a_step], b[i * b_step]) ? 1 : 0;
}

void select(const uint8_t* condition, int64_t condition_step, const void* a, int64_t a_step,
            const void* b, int64_t b_step, void* y, int64_t n) noexcept {
  const auto* from_a = static_cast<const uint32_t*>(a);
  const auto* from_b = static_cast<const uint32_t*>(b);
  auto* to = static_cast<uint32_t*>(y);
  for (int64_t i = 0; i < n; ++i) {
    to[i] = condition[i * condition_step] != 0 ? from_a[i * a_step] : from_b[i * b_step];
  }
}

void f16_to_f32(const uint16_t* x, float* y, int64_t n) noexcept {
  for (int64_t i = 0; i < n; ++i) y[i] = to_float(float16{x[i]});
}
void f32_to_f16(const float* x, uint16_t* y, int64_t n) noexcept {
  for (int64_t i = 0; i < n; ++i) y[i] = to_float16(x[i]).bits;
}
void bf16_to_f32(const uint16_t* x, float* y, int64_t n) noexcept {
  for (int64_t i = 0; i < n; ++i) y[i] = to_float(bfloat16{x[i]});
}
void f32_to_bf16(const float* x, uint16_t* y, int64_t n) noexcept {
  for (int64_t i = 0; i < n; ++i) y[i] = to_bfloat16(x[i]).bits;
}
void i32_to_f32(const int32_t* x, float* y, int64_t n) noexcept {
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(x[i]);
}
void f32_to_i32(const float* x, int32_t* y, int64_t n) noexcept {
  for (int64_t i = 0; i < n; ++i) {
    const float value = x[i];
    if (std::isnan(value)) {
      y[i] = 0;
    } else if (value >= 0x1p31f) {
      y[i] = std::numeric_limits<int32_t>::max();
    } else if (value <= -0x1p31f) {
      y[i] = std::numeric_limits<int32_t>::min();
    } else {
      y[i] = static_cast<int32_t>(value);
    }
  }
}

// The code of x minus zero.
double level(float x, const CodeScale& scale) {
  const double near = std::nearbyint(double{x} / double{scale.scale});
  const double lowest = scale.lowest - scale.zero;
  // Avoids negative zero.
  return (std::isnan(near) ? -scale.zero : std::min(std::max(near, lowest), lowest + 255)) + 0.0;
}

float meaning(double level, const CodeScale& scale) {
  return static_cast<float>(level) * scale.scale;
}

void quantize(const float* x, int32_t* y, int64_t n, const CodeScale& scale) noexcept {
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<int32_t>(level(x[i], scale)) + scale.zero;
}
void dequantize(const int32_t* x, float* y, int64_t n, const CodeScale& scale) noexcept {
  for (int64_t i = 0; i < n; ++i) y[i] = meaning(static_cast<double>(x[i]) - scale.zero, scale);
}
void round_to_codes(const float* x, float* y, int64_t n, const CodeScale& scale) noexcept {
  for (int64_t i = 0; i < n; ++i) y[i] = meaning(level(x[i], scale), scale);
}
void pair_codes(const float* a, const float* b, int32_t* y, int64_t n,
                const CodeScale& scale) noexcept {
  for (int64_t i = 0; i < n; ++i) {
    const auto low = static_cast<uint16_t>(static_cast<int16_t>(level(a[i], scale)));
    const double other = b != nullptr ? level(b[i], scale) : 0;
    const auto high = static_cast<uint16_t>(static_cast<int16_t>(other));
    y[i] = static_cast<int32_t>(uint32_t{high} << 16 | low);
  }
}

}  // namespace

const ElementwiseKernels elementwise_scalar = {
    "elementwise_scalar", unary,      binary<float>, binary<int32_t>, compare<float>,
    compare<int32_t>,     select,     f16_to_f32,    f32_to_f16,      bf16_to_f32,
    f32_to_bf16,          i32_to_f32, f32_to_i32,    quantize,        dequantize,
    round_to_codes,       pair_codes,
};

}  // namespace pippin::kernels
