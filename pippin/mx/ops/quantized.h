// Quantized weights in MLX's layout: groups along the last axis, each with a scale and a bias in
// the type of the weights; codes packed into uint32, least significant bits first.
//
// Modes other than "affine" are Unsupported.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pippin/mx/core/array.h"

namespace pippin::mx {

// Returns the packed codes, scales and biases of w[..., k]; k is a multiple of group_size (32, 64,
// 128), bits is 2, 3, 4, 5, 6 or 8.
PIPPIN_API std::vector<array> quantize(const array& w, int group_size = 64, int bits = 4,
                                       const std::string& mode = "affine");
PIPPIN_API array dequantize(const array& w, const array& scales, const std::optional<array>& biases,
                            int group_size = 64, int bits = 4, const std::string& mode = "affine",
                            std::optional<Dtype> dtype = std::nullopt);
// x · Wᵀ (transpose) or x · W. x has the type of the scales.
PIPPIN_API array quantized_matmul(const array& x, const array& w, const array& scales,
                                  const std::optional<array>& biases, bool transpose = true,
                                  int group_size = 64, int bits = 4,
                                  const std::string& mode = "affine");
PIPPIN_API array gather_qmm(const array& x, const array& w, const array& scales,
                            const std::optional<array>& biases,
                            const std::optional<array>& lhs_indices,
                            const std::optional<array>& rhs_indices, bool transpose = true,
                            int group_size = 64, int bits = 4, const std::string& mode = "affine",
                            bool sorted_indices = false);

}  // namespace pippin::mx
