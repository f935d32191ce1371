// The parameters of constexpr ops as bytes, for code that expands or keeps them without the op
// table's doubles.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "pippin/engine/lowering/builder.h"

namespace pippin::engine {

struct ConstexprInput {
  mil::DataType type;
  std::vector<int64_t> dims;
  const std::byte* data;  // packed elements; lives as long as the program and the plan
  int64_t count;
};

// A parameter: a constant, the expanded result of another constexpr op, or the mask that a sparse
// op passes on. Nothing if it is absent or not available as bytes. Throws InvalidFile if it is too
// short.
std::optional<ConstexprInput> constexpr_input(Builder& builder, const mil::Operation& operation,
                                              std::string_view parameter);
// A constant parameter, which older opsets may keep in attributes; or null.
const mil::Value* constexpr_constant(const mil::Operation& operation, std::string_view parameter);

// Sets n, k and the blocks of a matrix whose rows are the first axis (for rank 3 and more: the
// first that is not 1) of data of this shape, given the number of blocks of each axis. Returns
// false if blocks are not contiguous in the merged inner axes.
bool set_blocks(std::vector<int64_t> shape, std::vector<int64_t> blocks,
                kernels::QuantizedMatrix& w);

std::optional<kernels::WeightType> float_type(mil::DataType type);  // Float16, Float32

// n for a palette of 2^n entries; 0 for sizes that Core ML does not have.
int palette_bits(int64_t entries);

}  // namespace pippin::engine
