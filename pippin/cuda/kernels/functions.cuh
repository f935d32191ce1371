// The functions of elementwise kernels: those of kernels/elementwise and kernels/rows, where the
// formulas are.
#pragma once

#include "pippin/cuda/kernels/machine.h"
#include "pippin/kernels/elementwise/args.h"
#include "pippin/kernels/rows/args.h"

namespace pippin::cuda {

using kernels::BinaryOp;
using kernels::CompareOp;
using kernels::GateOp;
using kernels::UnaryOp;

DEVICE float sigmoid(float x) {
  const float e = expf(-fabsf(x));
  return (x < 0 ? e : 1.0f) / (1 + e);
}
// The limit at infinity, where x * 0 would give NaN.
DEVICE float limited(float x, float factor) {
  return factor == 0 ? 0.0f : x * factor;
}
DEVICE float gelu(float x) {
  constexpr float kHigh = 0.707106769084930420f, kLow = 1.21016171e-8f;  // the root of 1/2
  const float z = -x * kHigh;
  float rest = erfcf(z);
  // Where erfc falls steeply, by its slope: what the product lost.
  if (z > 1 && z < 10) rest *= 1 - 2 * z * (fmaf(-x, kHigh, -z) - x * kLow);
  return limited(x, 0.5f * rest);
}
DEVICE float gelu_tanh(float x) {
  return limited(x, sigmoid(2 * 0.79788456080286535588f * (x + 0.044715f * x * x * x)));
}
DEVICE float clamped(float x, float low, float high) {
  if (x != x) return x;
  const float y = x < low ? low : x;
  return high < y ? high : y;
}

DEVICE float unary_value(UnaryOp op, float x, float alpha, float beta) {
  switch (op) {
    case UnaryOp::Abs:
      return fabsf(x);
    case UnaryOp::Ceil:
      return ceilf(x);
    case UnaryOp::Clip:
      return clamped(x, alpha, beta);
    case UnaryOp::Cos:
      return cosf(x);
    case UnaryOp::Elu:
      return x > 0 ? x : alpha * expm1f(x);
    case UnaryOp::Erf:
      return erff(x);
    case UnaryOp::Exp:
      return expf(x);
    case UnaryOp::Exp2:
      return exp2f(x);
    case UnaryOp::Floor:
      return floorf(x);
    case UnaryOp::Gelu:
      return gelu(x);
    case UnaryOp::GeluSigmoid:
      return limited(x, sigmoid(1.702f * x));
    case UnaryOp::GeluTanh:
      return gelu_tanh(x);
    case UnaryOp::HardSwish: {
      const float factor = fmaf(alpha, x, beta);
      const float some = factor < 0 ? 0.0f : factor;
      return x * (some > 1 ? 1.0f : some);
    }
    case UnaryOp::Inverse:
      return 1 / (x + alpha);
    case UnaryOp::LeakyRelu:
      return x >= 0 ? x : alpha * x;
    case UnaryOp::Linear:
      return fmaf(alpha, x, beta);
    case UnaryOp::Log:  // in a float small x would be lost
      return alpha == 0 ? logf(x) : static_cast<float>(log(double{x} + double{alpha}));
    case UnaryOp::Neg:
      return -x;
    case UnaryOp::Relu:
      return x < 0 ? 0.0f : x;
    case UnaryOp::Relu6:
      return clamped(x, 0, 6);
    case UnaryOp::Round:
      return rintf(x);
    case UnaryOp::Rsqrt:
      return 1 / sqrtf(x + alpha);
    case UnaryOp::ScaledTanh:
      return alpha * tanhf(beta * x);
    case UnaryOp::Sigmoid:
      return sigmoid(x);
    case UnaryOp::SigmoidHard:
      return x != x ? x : clamped(fmaf(alpha, x, beta), 0, 1);
    case UnaryOp::Sign:
      return x > 0 ? 1.0f : x < 0 ? -1.0f : x;
    case UnaryOp::Silu:
      return limited(x, sigmoid(x));
    case UnaryOp::Sin:
      return sinf(x);
    case UnaryOp::Softplus:
      return x > 0 ? x + log1pf(expf(-x)) : log1pf(expf(x));
    case UnaryOp::Softsign:
      return fabsf(x) > 3.4028234e38f ? copysignf(1.0f, x) : x / (1 + fabsf(x));
    case UnaryOp::Sqrt:
      return sqrtf(x);
    case UnaryOp::Square:
      return x * x;
    case UnaryOp::Tanh:
      return tanhf(x);
    case UnaryOp::Threshold:
      return x < alpha ? alpha : x;
  }
  return x;
}

DEVICE float gate_value(GateOp op, float x) {
  switch (op) {
    case GateOp::Silu:
      return limited(x, sigmoid(x));
    case GateOp::Gelu:
      return gelu(x);
    case GateOp::GeluTanh:
      return gelu_tanh(x);
    case GateOp::GeluSigmoid:
      return limited(x, sigmoid(1.702f * x));
    case GateOp::Sigmoid:
      return sigmoid(x);
  }
  return x;
}

DEVICE float binary_value(BinaryOp op, float a, float b) {
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
      return floorf(a / b);
    case BinaryOp::Mod: {
      const float rest = fmodf(a, b);  // exact, with the sign of a
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
    case BinaryOp::Maximum:
      return a != a || a > b ? a : b;
    case BinaryOp::Minimum:
      return a != a || a < b ? a : b;
    case BinaryOp::Pow:
      return powf(a, b);
  }
  return a;
}

DEVICE uint32_t integer_power(uint32_t base, int32_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    return base == 0xffffffffu ? (exponent % 2 != 0 ? base : 1) : 0;
  }
  uint32_t result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= base;
    base *= base;
  }
  return result;
}
DEVICE int64_t floor_quotient(int32_t a, int32_t b) {
  const int64_t quotient = int64_t{a} / b;
  return int64_t{a} % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

// Wraps on overflow.
DEVICE int32_t binary_value(BinaryOp op, int32_t a, int32_t b) {
  const uint32_t u = static_cast<uint32_t>(a), v = static_cast<uint32_t>(b);
  switch (op) {
    case BinaryOp::Add:
      return static_cast<int32_t>(u + v);
    case BinaryOp::Sub:
      return static_cast<int32_t>(u - v);
    case BinaryOp::Mul:
      return static_cast<int32_t>(u * v);
    case BinaryOp::Div:
    case BinaryOp::FloorDiv:
      return b == 0 ? 0 : static_cast<int32_t>(floor_quotient(a, b));
    case BinaryOp::Mod:
      return b == 0 ? 0 : static_cast<int32_t>(a - b * floor_quotient(a, b));
    case BinaryOp::Maximum:
      return a > b ? a : b;
    case BinaryOp::Minimum:
      return a < b ? a : b;
    case BinaryOp::Pow:
      return static_cast<int32_t>(integer_power(u, b));
  }
  return a;
}

template <typename T>
DEVICE bool holds(CompareOp op, T a, T b) {
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

}  // namespace pippin::cuda
