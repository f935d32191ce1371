// Matrix products. Sums are float32 for halves and float32, double for float64.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pippin/mx/core/array.h"

namespace pippin::mx {

// NumPy's rule: vectors are rows or columns, and the axes before the last two broadcast. Integers
// become float32, as in MLX.
PIPPIN_API array matmul(const array& a, const array& b);
PIPPIN_API array addmm(const array& c, const array& a, const array& b, float alpha = 1,
                       float beta = 1);
PIPPIN_API array inner(const array& a, const array& b);
PIPPIN_API array outer(const array& a, const array& b);
PIPPIN_API array tensordot(const array& a, const array& b, int axes = 2);
PIPPIN_API array tensordot(const array& a, const array& b, const std::vector<int>& axes_a,
                           const std::vector<int>& axes_b);
PIPPIN_API array kron(const array& a, const array& b);
PIPPIN_API array vecdot(const array& a, const array& b, int axis = -1);
PIPPIN_API array einsum(const std::string& subscripts, const std::vector<array>& operands);
// The order of contractions, and a report of its cost.
PIPPIN_API std::pair<std::vector<std::vector<int>>, std::string> einsum_path(
    const std::string& subscripts, const std::vector<array>& operands);
// Products of matrices of a and b selected by indices into their flattened leading axes.
PIPPIN_API array gather_mm(const array& a, const array& b, const std::optional<array>& lhs_indices,
                           const std::optional<array>& rhs_indices, bool sorted_indices = false);
PIPPIN_API array block_masked_mm(const array& a, const array& b, int block_size,
                                 const std::optional<array>& mask_out = std::nullopt,
                                 const std::optional<array>& mask_lhs = std::nullopt,
                                 const std::optional<array>& mask_rhs = std::nullopt);
PIPPIN_API array segmented_mm(const array& a, const array& b, const array& segments);
PIPPIN_API array hadamard_transform(const array& a, std::optional<float> scale = std::nullopt);

}  // namespace pippin::mx
