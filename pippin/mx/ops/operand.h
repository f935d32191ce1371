// Arrays as operands of the engine's launchers (engine/cpu/launch.h).
#pragma once

#include <algorithm>

#include "pippin/engine/run/step.h"
#include "pippin/mx/core/node.h"

namespace pippin::mx {

// float32, float16, bfloat16, int32 and bool.
inline engine::Storage storage_of(Dtype dtype) {
  return dtype == float16    ? engine::Storage::F16
         : dtype == bfloat16 ? engine::Storage::BF16
         : dtype == int32    ? engine::Storage::I32
         : dtype == bool_    ? engine::Storage::Bool
                             : engine::Storage::F32;
}

// The elements of an available node in another view of its memory.
inline engine::Operand operand_of(const Node& node, const Shape& shape, const Strides& strides) {
  engine::Operand operand;
  operand.data = node.data;
  operand.storage = storage_of(node.dtype);
  operand.rank = static_cast<int>(shape.size());
  std::copy(shape.begin(), shape.end(), operand.shape);
  std::copy(strides.begin(), strides.end(), operand.strides);
  return operand;
}

inline engine::Operand operand_of(const Node& node) {
  return operand_of(node, node.shape, node.strides);
}

// Numbers that are not written.
inline engine::Operand operand_of_floats(const float* values, const Shape& shape,
                                         const Strides& strides) {
  engine::Operand operand;
  operand.data = reinterpret_cast<std::byte*>(const_cast<float*>(values));
  operand.rank = static_cast<int>(shape.size());
  std::copy(shape.begin(), shape.end(), operand.shape);
  std::copy(strides.begin(), strides.end(), operand.strides);
  return operand;
}

}  // namespace pippin::mx
