// Elementwise kernels.
#pragma once

#include "pippin/cuda/kernels/axes.cuh"
#include "pippin/cuda/kernels/elementwise_args.h"
#include "pippin/cuda/kernels/functions.cuh"

namespace pippin::cuda {

DEVICE void unary_body(const UnaryArgs& a) {
  map_elements(a.axes, a.y, a.x, [&](float x) { return unary_value(a.op, x, a.alpha, a.beta); });
}

// In double precision, so that the result is the nearest float.
DEVICE float mapped(const MapArgs& a, float given) {
  const double x = double{given};
  switch (a.op) {
    case MapOp::Acos:
      return static_cast<float>(acos(x));
    case MapOp::Asin:
      return static_cast<float>(asin(x));
    case MapOp::Atan:
      return static_cast<float>(atan(x));
    case MapOp::Atanh:
      return static_cast<float>(atanh(x));
    case MapOp::Cosh:
      return static_cast<float>(cosh(x));
    case MapOp::Sinh:
      return static_cast<float>(sinh(x));
    case MapOp::Tan:
      return static_cast<float>(tan(x));
    case MapOp::ClampedRelu: {
      const double y = x < 0 ? a.alpha * x : x;
      return static_cast<float>(y > a.beta ? a.beta : y);
    }
    case MapOp::ThresholdedRelu:
      return x >= a.alpha ? given : 0.0f;
    default:
      return given;
  }
}
DEVICE int32_t mapped(const MapArgs& a, int32_t x) {
  const uint32_t bits = static_cast<uint32_t>(x);
  switch (a.op) {
    case MapOp::Abs:
      return static_cast<int32_t>(x < 0 ? 0 - bits : bits);
    case MapOp::Clip: {
      double y = x;
      if (y < a.alpha) y = a.alpha;
      if (y > a.beta) y = a.beta;
      return static_cast<int32_t>(y);
    }
    case MapOp::Sign:
      return x > 0 ? 1 : x < 0 ? -1 : 0;
    case MapOp::Square:
      return static_cast<int32_t>(bits * bits);
    default:
      return x;
  }
}
DEVICE void map_floats_body(const MapArgs& a) {
  map_elements(a.axes, static_cast<float*>(a.y), static_cast<const float*>(a.x),
               [&](float x) { return mapped(a, x); });
}
DEVICE void map_integers_body(const MapArgs& a) {
  map_elements(a.axes, static_cast<int32_t*>(a.y), static_cast<const int32_t*>(a.x),
               [&](int32_t x) { return mapped(a, x); });
}

DEVICE void narrow_body(const NarrowArgs& a) {
  const uint32_t mask = (1u << a.bits) - 1, sign = 1u << (a.bits - 1);
  const int32_t highest = static_cast<int32_t>(a.is_signed ? mask >> 1 : mask);
  const int32_t lowest = a.is_signed ? -highest - 1 : 0;
  map_elements(a.axes, a.y, a.x, [&](int32_t x) {
    if (a.saturates) return x < lowest ? lowest : x > highest ? highest : x;
    const uint32_t low = static_cast<uint32_t>(x) & mask;
    return static_cast<int32_t>(a.is_signed && (low & sign) != 0 ? low | ~mask : low);
  });
}

// 0 where a bool is true, elsewhere -inf.
DEVICE void allowed_body(const AllowedArgs& a) {
  map_elements(a.axes, a.y, a.x,
               [](uint8_t x) { return x != 0 ? 0.0f : bits_to_float(0xff800000u); });
}

template <typename Y, typename X, typename Args, typename F>
DEVICE void combine_elements(const Args& a, const F& f) {
  map_elements(a.axes, static_cast<Y*>(a.y), static_cast<const X*>(a.a), static_cast<const X*>(a.b),
               f);
}

DEVICE void binary_body(const BinaryArgs& a) {
  if (a.integers) {
    combine_elements<int32_t, int32_t>(
        a, [&](int32_t x, int32_t z) { return binary_value(a.op, x, z); });
  } else {
    combine_elements<float, float>(a, [&](float x, float z) { return binary_value(a.op, x, z); });
  }
}
DEVICE void compare_body(const CompareArgs& a) {
  if (a.integers) {
    combine_elements<uint8_t, int32_t>(
        a, [&](int32_t x, int32_t z) { return static_cast<uint8_t>(holds(a.op, x, z)); });
  } else {
    combine_elements<uint8_t, float>(
        a, [&](float x, float z) { return static_cast<uint8_t>(holds(a.op, x, z)); });
  }
}
DEVICE void logic_body(const LogicArgs& a) {
  combine_elements<uint8_t, uint8_t>(a, [&](uint8_t left, uint8_t right) {
    const bool x = left != 0, z = right != 0;
    const bool y = a.op == Logic::And   ? x && z
                   : a.op == Logic::Or  ? x || z
                   : a.op == Logic::Xor ? x != z
                                        : !x;
    return static_cast<uint8_t>(y);
  });
}
// activation(a) * b
DEVICE void gate_body(const GateArgs& a) {
  combine_elements<float, float>(a, [&](float x, float up) { return gate_value(a.op, x) * up; });
}

DEVICE void select_elements_body(const SelectArgs& a) {
  int64_t at[4];
  if (!find_elements(a.axes, at)) return;
  const int width = a.axes.width;
  const Four<uint8_t> choice = read_elements(a.condition + at[1], width, a.axes.strides[1][0]);
  const Four<uint32_t> left = read_elements(a.a + at[2], width, a.axes.strides[2][0]);
  const Four<uint32_t> right = read_elements(a.b + at[3], width, a.axes.strides[3][0]);
  Four<uint32_t> y;
  for (int i = 0; i < 4; ++i) y.v[i] = choice.v[i] != 0 ? left.v[i] : right.v[i];
  write_elements(a.y + at[0], width, y);
}

// The code of x minus zero.
DEVICE double code_level(float x, const kernels::CodeScale& scale) {
  const double near = rint(double{x} / double{scale.scale});
  const double lowest = static_cast<double>(scale.lowest) - scale.zero, highest = lowest + 255;
  const double low = near < lowest ? lowest : near;
  // Avoids negative zero.
  return (near != near ? -static_cast<double>(scale.zero) : low > highest ? highest : low) + 0.0;
}

DEVICE void code_body(const CodeArgs& a) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * block_threads() + thread_index();
  if (i >= a.count) return;
  const kernels::CodeScale scale = a.slices[i / a.inner % a.num_slices];
  if (a.op == CodeArgs::Op::Dequantize) {
    const double level = static_cast<double>(static_cast<const int32_t*>(a.x)[i]) - scale.zero;
    static_cast<float*>(a.y)[i] = static_cast<float>(level) * scale.scale;
    return;
  }
  const double level = code_level(static_cast<const float*>(a.x)[i], scale);
  if (a.op == CodeArgs::Op::Quantize) {
    static_cast<int32_t*>(a.y)[i] = static_cast<int32_t>(level) + scale.zero;
  } else {
    static_cast<float*>(a.y)[i] = static_cast<float>(level) * scale.scale;
  }
}

DEVICE uint32_t code_bits(float x, const kernels::CodeScale& scale) {
  return static_cast<uint32_t>(static_cast<int32_t>(code_level(x, scale))) & 0xffffu;
}
DEVICE void pair_codes_body(const PairArgs& a) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * block_threads() + thread_index();
  if (i >= a.count) return;
  const int64_t row = i / a.size, channel = row % a.pairs * 2;
  const float* x = a.x + row / a.pairs * a.x_matrix + channel * a.x_channel + i % a.size;
  const uint32_t low = code_bits(*x, a.scale);
  const uint32_t high = channel + 1 < a.channels ? code_bits(x[a.x_channel], a.scale) : 0;
  a.y[i] = static_cast<int32_t>(high << 16 | low);
}

}  // namespace pippin::cuda
