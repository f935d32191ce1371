// The parameters of constexpr ops as bytes, for those that expand or keep them without the op
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

// A parameter: a constant, what another constexpr op makes of one (expanded), or the mask that a
// sparse op hands on. Nothing where it is absent or has no bytes. Throws InvalidFile where there
// are too few of them.
std::optional<ConstexprInput> constexpr_input(Builder& builder, const mil::Operation& operation,
                                              std::string_view parameter);
// A constant parameter, also one that older opsets keep in attributes; or null.
const mil::Value* constexpr_constant(const mil::Operation& operation, std::string_view parameter);

// Sets n, k and the blocks of a matrix whose rows are the first axis (of rank 3 and more: the first
// that is not 1) of data of this shape, of which each axis has so many blocks. False where blocks
// are no runs of the merged inner axes.
bool set_blocks(std::vector<int64_t> shape, std::vector<int64_t> blocks,
                kernels::QuantizedMatrix& w);

std::optional<kernels::WeightType> float_type(mil::DataType type);  // Float16, Float32

// n of a palette of 2^n entries; 0 for other sizes than Core ML has.
int palette_bits(int64_t entries);

}  // namespace pippin::engine
