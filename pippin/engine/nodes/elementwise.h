// Elementwise work, independent of positions. Views have the shape of y, which is written without
// gaps, and any strides; `name` is that of the operation or formula.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/kernels/elementwise/args.h"
#include "pippin/kernels/rows/args.h"

namespace pippin::engine {

// views: y, x of fp32.
struct UnaryNode {
  std::string name;
  kernels::UnaryOp op{};
  float alpha = 0, beta = 0;
};

// A function without a kernel, by the name of its operation: rare ones, and those of integers.
// views: y, x, both of fp32 or of int32.
struct MapNode {
  std::string name;
  double alpha = 0, beta = 0;
};

// views: y, a, b, all of fp32 or of int32.
struct BinaryNode {
  std::string name;
  kernels::BinaryOp op{};
};

// views: y of bools; a, b, both of fp32 or of int32.
struct CompareNode {
  std::string name;
  kernels::CompareOp op{};
};

// views: y, a, b of bools; b is a for Not.
enum class LogicOp : uint8_t { And, Or, Xor, Not };
struct LogicNode {
  std::string name;
  LogicOp op{};
};

// views: y, the condition of bools, a, b; elements of 4 bytes.
struct SelectNode {};

// Converts integers to the values of a narrower integer type: their low bits, or, if they come from
// floats, the nearest end of the range (mil::saturate_to_type()). views: y, x of int32.
struct NarrowNode {
  int bits = 8;
  bool is_signed = true, saturates = false;
};

// activation(gate) * up: the middle of an MLP. views: y, gate, up of fp32.
struct GateNode {
  std::string name;  // of the activation
  kernels::GateOp op{};
};

// 8-bit quantized values. views: y, x, both [outer, slices, inner] without gaps.
enum class CodeOp : uint8_t {
  Quantize,    // y of I32, x of F32
  Dequantize,  // y of F32, x of I32
  Round,       // both, one after the other: y and x of F32
};
struct CodeNode {
  CodeOp op{};
  std::vector<kernels::CodeScale> slices;  // one for each of them
};

// The quantized values minus the zero point, two neighbouring channels in each element, as ConvNode
// reads them. views: y [N, ceil(C / 2), places] of I32, x [N, C, places] of F32, both without gaps.
struct PairNode {
  kernels::CodeScale scale{};
};

}  // namespace pippin::engine
