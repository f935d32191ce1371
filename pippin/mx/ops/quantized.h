// Quantized weights in MLX's layout: groups along the last axis, each with a scale and a bias in
// the type of the weights; quantized values packed into uint32, least significant bits first.
//
// A value is scale * q + bias for q in [0, 2^bits). group_size is 32, 64 or 128, and bits is 2, 3,
// 4, 5, 6 or 8; other numbers throw InvalidArgument. The mode is "affine": "mxfp4", "mxfp8" and
// "nvfp4" throw Unsupported, others InvalidArgument.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pippin/mx/core/array.h"

namespace pippin::mx {

// Returns {packed [..., k * bits / 32] uint32, scales [..., k / group_size], biases, shaped as
// scales} for w[..., k] of at least two axes. The range of a group is divided evenly such that 0 is
// represented exactly. Throws InvalidArgument for types that are not floats and if k is not a
// multiple of group_size.
PIPPIN_API std::vector<array> quantize(const array& w, int group_size = 64, int bits = 4,
                                       const std::string& mode = "affine");
// Returns the values of quantized weights, [..., k], of type `dtype`; by default, that of the
// scales. Throws InvalidArgument for shapes that do not belong together and without biases.
PIPPIN_API array dequantize(const array& w, const array& scales, const std::optional<array>& biases,
                            int group_size = 64, int bits = 4, const std::string& mode = "affine",
                            std::optional<Dtype> dtype = std::nullopt);
// Returns x · Wᵀ (`transpose`) or x · W for the quantized matrix W: [..., n] for x[..., k] and W[n,
// k], or [..., k] for x[..., n]. Leading axes of W broadcast with those of x. The type is promoted
// from x and the scales. Throws InvalidArgument for sizes that do not fit, for x that is not of
// floats, and without biases.
PIPPIN_API array quantized_matmul(const array& x, const array& w, const array& scales,
                                  const std::optional<array>& biases, bool transpose = true,
                                  int group_size = 64, int bits = 4,
                                  const std::string& mode = "affine");
// Returns products as quantized_matmul() of matrices of x[..., m, k] and W that are selected by
// indices into their flattened leading axes: [..., m, n], where ... is the shape of the indices,
// which broadcast together. Without indices of one side, all its matrices in order.
// `sorted_indices` is a hint without effect. Throws as quantized_matmul().
PIPPIN_API array gather_qmm(const array& x, const array& w, const array& scales,
                            const std::optional<array>& biases,
                            const std::optional<array>& lhs_indices,
                            const std::optional<array>& rhs_indices, bool transpose = true,
                            int group_size = 64, int bits = 4, const std::string& mode = "affine",
                            bool sorted_indices = false);

}  // namespace pippin::mx
