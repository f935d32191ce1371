// Index arrays as numbers, checked against the array's size.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "pippin/mx/core/array.h"

namespace pippin::mx {

// Row-major; negative ones count from the end. Throws InvalidArgument for an index out of range.
std::vector<int64_t> read_indices(std::string_view op, const Node& indices, int64_t size);
// Throws InvalidArgument for floats and bools.
void check_index_type(std::string_view op, const array& indices);

// The indices of all matrices of x[..., m, n], in the shape of the axes before the last two.
array every_matrix(const array& x);

// For gather and scatter. Returns the shape that the index arrays broadcast to; `axes` count from
// the start.
Shape check_block_indices(std::string_view op, const array& a, const std::vector<array>& indices,
                          std::vector<int>& axes);
// The offset in x's memory, in elements, of the block for each position; index k is input
// first_index + k of `node`.
std::vector<int64_t> block_offsets(std::string_view op, const Node& node, size_t first_index,
                                   const std::vector<int>& axes, const Shape& places,
                                   const Shape& slice_sizes, const Node& x);

}  // namespace pippin::mx
