// Matrix products. Sums are float32 for halves and float32, double for float64.
//
// The results have the promoted type, which must be a float (complex64 only where said): integers
// and bools throw InvalidArgument, with the operation's name.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pippin/mx/core/array.h"

namespace pippin::mx {

// Returns a · b for a[..., m, k] and b[..., k, n]: [..., m, n], where the axes before the last two
// broadcast. Vectors are a row (a) or a column (b), and lose that axis in the result. complex64 is
// supported. Throws InvalidArgument for numbers without axes and for sizes that do not fit.
PIPPIN_API array matmul(const array& a, const array& b);
// Returns alpha * (a · b) + beta * c, where `c` is broadcast to the product. Throws as matmul(),
// and InvalidArgument if `c` cannot be broadcast.
PIPPIN_API array addmm(const array& c, const array& a, const array& b, float alpha = 1,
                       float beta = 1);
// Returns the sums of products over the last axes of a[..., k] and b[..., k]: a.shape[:-1] +
// b.shape[:-1]. Numbers without axes are multiplied. Throws InvalidArgument if the last axes differ
// in size.
PIPPIN_API array inner(const array& a, const array& b);
// Returns the products of all pairs of elements, (a.size(), b.size()), for any type.
PIPPIN_API array outer(const array& a, const array& b);
// Returns the sums of products over the last `axes` axes of `a` and the first ones of `b`. The
// shape is that of the other axes of `a`, then of `b`. Throws InvalidArgument if sizes differ or
// there are fewer axes.
PIPPIN_API array tensordot(const array& a, const array& b, int axes = 2);
// Returns the sums of products over axes_a[i] of `a` and axes_b[i] of `b`. The shape is that of the
// other axes of `a`, then of `b`. Throws InvalidArgument if sizes or the numbers of axes differ.
PIPPIN_API array tensordot(const array& a, const array& b, const std::vector<int>& axes_a,
                           const std::vector<int>& axes_b);
// Returns the Kronecker product: every element of `a` times the whole of `b`, in blocks. Sizes
// multiply, for any type; the shorter shape is extended by 1 at the front.
PIPPIN_API array kron(const array& a, const array& b);
// Returns Σ conj(a) * b along an axis, for any type; the other axes broadcast. Throws
// InvalidArgument if the axis differs in size.
PIPPIN_API array vecdot(const array& a, const array& b, int axis = -1);
// Returns the sums of products that Einstein's notation describes, as NumPy's einsum():
// "bij,bjk->bik"; for any type. Labels are letters; "..." stands for further axes, which broadcast.
// Without "->" the output has the labels that occur once, in alphabetical order. Throws
// InvalidArgument for subscripts that are invalid or do not fit the operands.
PIPPIN_API array einsum(const std::string& subscripts, const std::vector<array>& operands);
// Returns the order in which einsum() contracts operands (the positions that each step removes; its
// result is appended) and a report of its cost in operations. The order is found greedily, as
// NumPy's. Throws as einsum().
PIPPIN_API std::pair<std::vector<std::vector<int>>, std::string> einsum_path(
    const std::string& subscripts, const std::vector<array>& operands);
// Returns products of matrices a[..., m, k] and b[..., k, n] that are selected by indices into
// their flattened leading axes: [..., m, n], where ... is the shape of the indices, which broadcast
// together. Without indices of one side, all its matrices in order; without both, matmul().
// `sorted_indices` is a hint without effect. Throws as matmul().
PIPPIN_API array gather_mm(const array& a, const array& b, const std::optional<array>& lhs_indices,
                           const std::optional<array>& rhs_indices, bool sorted_indices = false);
// Returns a · b, with blocks of `block_size` rows and columns (32 or 64) of the result, of `a` and
// of `b` multiplied by an element of a mask each: for [..., m, n], [..., ⌈m / block_size⌉, ⌈n /
// block_size⌉]. False in a bool mask zeroes the block. Throws InvalidArgument for other block sizes
// and shapes that do not fit.
PIPPIN_API array block_masked_mm(const array& a, const array& b, int block_size,
                                 const std::optional<array>& mask_out = std::nullopt,
                                 const std::optional<array>& mask_lhs = std::nullopt,
                                 const std::optional<array>& mask_rhs = std::nullopt);
// Returns a[:, from:to] · b[from:to, :] for each pair (from, to) in segments[..., 2]: [..., m, n]
// for a[m, k] and b[k, n]. Bounds are clamped; floats are fractions of k. Evaluates `segments`.
// Throws InvalidArgument for other shapes.
PIPPIN_API array segmented_mm(const array& a, const array& b, const array& segments);
// Returns the product of the last axis, of size n = 2^i, with the Hadamard matrix in Sylvester's
// order, times `scale` (default: 1 / √n), for any type; integers become float32. Throws Unsupported
// for other sizes.
PIPPIN_API array hadamard_transform(const array& a, std::optional<float> scale = std::nullopt);

}  // namespace pippin::mx
