// The operations of elementwise.h and the tables of kernels.inc. Included by files that are
// compiled for one instruction set: no inline functions here.
#pragma once

#include <cstdint>

namespace pippin::kernels {

// Operations with the parameters alpha and beta of `unary`.
enum class UnaryOp {
  Abs,
  Ceil,
  Clip,  // min(max(x, alpha), beta)
  Cos,
  Elu,  // x > 0 ? x : alpha * (exp(x) - 1)
  Erf,
  Exp,
  Exp2,
  Floor,
  Gelu,         // x/2 * (1 + erf(x / sqrt 2))
  GeluSigmoid,  // x * sigmoid(1.702 x)
  GeluTanh,     // x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))
  HardSwish,    // x * min(max(alpha * x + beta, 0), 1)
  Inverse,      // 1 / (x + alpha)
  LeakyRelu,    // x >= 0 ? x : alpha * x
  Linear,       // alpha * x + beta
  Log,          // log(x + alpha)
  Neg,
  Relu,
  Relu6,
  Round,       // to nearest, ties to even
  Rsqrt,       // 1 / sqrt(x + alpha)
  ScaledTanh,  // alpha * tanh(beta * x)
  Sigmoid,
  SigmoidHard,  // min(max(alpha * x + beta, 0), 1)
  Sign,         // -1, 0 or 1
  Silu,         // x * sigmoid(x)
  Sin,
  Softplus,  // log(1 + exp(x))
  Softsign,  // x / (1 + |x|)
  Sqrt,
  Square,
  Tanh,
  Threshold,  // max(x, alpha)
};
constexpr int kNumUnaryOps = static_cast<int>(UnaryOp::Threshold) + 1;

enum class BinaryOp {
  Add,
  Sub,
  Mul,
  Div,       // integers: rounds towards minus infinity, as FloorDiv; x / 0 is 0
  FloorDiv,  // floor(a / b)
  Mod,       // a - b * floor(a / b): the sign of b; x mod 0 is NaN, for integers 0
  Maximum,   // NaN if either is
  Minimum,
  Pow,  // integers: by repeated multiplication, wrapping; 0 for b < 0 unless |a| is 1
};
constexpr int kNumBinaryOps = static_cast<int>(BinaryOp::Pow) + 1;

enum class CompareOp { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual };
constexpr int kNumCompareOps = static_cast<int>(CompareOp::GreaterEqual) + 1;

// The meaning of 8-bit codes: (code - zero) * scale. Codes range from `lowest` to lowest + 255;
// their distances to `zero` are at most 2^20.
struct CodeScale {
  float scale;
  int32_t zero, lowest;
};

// A step is 1 for an array and 0 for a single value used for every element.
struct ElementwiseKernels {
  const char* name;

  void (*unary)(UnaryOp op, const float* x, float* y, int64_t n, float alpha, float beta) noexcept;
  void (*binary)(BinaryOp op, const float* a, int64_t a_step, const float* b, int64_t b_step,
                 float* y, int64_t n) noexcept;
  // Wraps on overflow.
  void (*binary_i32)(BinaryOp op, const int32_t* a, int64_t a_step, const int32_t* b,
                     int64_t b_step, int32_t* y, int64_t n) noexcept;
  // y is 0 or 1, and must not share memory with the inputs.
  void (*compare)(CompareOp op, const float* a, int64_t a_step, const float* b, int64_t b_step,
                  uint8_t* y, int64_t n) noexcept;
  void (*compare_i32)(CompareOp op, const int32_t* a, int64_t a_step, const int32_t* b,
                      int64_t b_step, uint8_t* y, int64_t n) noexcept;
  // y = condition != 0 ? a : b, for any 4-byte type.
  void (*select)(const uint8_t* condition, int64_t condition_step, const void* a, int64_t a_step,
                 const void* b, int64_t b_step, void* y, int64_t n) noexcept;

  // Half-precision floats as bits; rounds to nearest even. x and y must not share memory.
  void (*f16_to_f32)(const uint16_t* x, float* y, int64_t n) noexcept;
  void (*f32_to_f16)(const float* x, uint16_t* y, int64_t n) noexcept;
  void (*bf16_to_f32)(const uint16_t* x, float* y, int64_t n) noexcept;
  void (*f32_to_bf16)(const float* x, uint16_t* y, int64_t n) noexcept;
  void (*i32_to_f32)(const int32_t* x, float* y, int64_t n) noexcept;
  // Towards zero; saturates; NaN gives 0.
  void (*f32_to_i32)(const float* x, int32_t* y, int64_t n) noexcept;

  // x / scale rounded to the nearest integer (ties to even), plus zero, clamped to the codes; NaN
  // gives 0. Results equal exact division: every table gives the same codes.
  void (*quantize)(const float* x, int32_t* y, int64_t n, const CodeScale& scale) noexcept;
  void (*dequantize)(const int32_t* x, float* y, int64_t n, const CodeScale& scale) noexcept;
  // Rounds x to the values that codes represent.
  void (*round_to_codes)(const float* x, float* y, int64_t n, const CodeScale& scale) noexcept;
  // The codes of a (in the low half) and b, minus zero, as two 16-bit integers, which must hold
  // them; b may be null for zeros.
  void (*pair_codes)(const float* a, const float* b, int32_t* y, int64_t n,
                     const CodeScale& scale) noexcept;
};

#define PIPPIN_ELEMENTWISE(flag, name) extern const ElementwiseKernels name;
#include "pippin/kernels/elementwise/kernels.inc"
#undef PIPPIN_ELEMENTWISE

}  // namespace pippin::kernels
