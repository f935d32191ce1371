// Numbers of compressed weights in the fewest bits that hold them exactly: programs of checkpoints
// have fp32 scales and offsets, most of which come from 16 bits or from quantized values, and every
// byte of a weight is read for every token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "pippin/kernels/dot/args.h"

namespace pippin::engine {

struct ExactHalves {
  kernels::WeightType type;  // F16 or BF16
  std::vector<std::byte> bytes;
};

// `count` fp32 numbers as fp16, or else as bf16; nothing if neither type holds all of them.
std::optional<ExactHalves> exact_halves(const std::byte* numbers, int64_t count);

// The products of fp32 offsets and scales, if the offsets are such products divided by the scales
// and rounded to fp32, like converted biases of MLX. Nothing if one is not.
std::optional<ExactHalves> exact_products(const std::byte* offsets, const std::byte* scales,
                                          int64_t count);

// Numbers, fp32 or fp16, that are all integers from 0 to 255; else nothing.
std::optional<std::vector<std::byte>> exact_bytes(const std::byte* numbers,
                                                  kernels::WeightType type, int64_t count);

}  // namespace pippin::engine
