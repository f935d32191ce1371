// Matrices that a checkpoint holds in a compressed form of its own: they stay compressed, as an
// operation of the program that expands them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/io/checkpoint.h"
#include "pippin/mil/data_type.h"

namespace pippin::nn {

class PackedWeights {
 public:
  virtual ~PackedWeights() = default;
  // The tensors that hold the matrix of that name; none where it lies as it is.
  virtual std::vector<std::string> tensors(const Checkpoint& checkpoint,
                                           const std::string& name) const = 0;
  // The matrix (out, in) as values of `type` (fp16 or fp32). Throws NotFound or InvalidFile, naming
  // the tensor and both shapes, where those are not its.
  virtual array::Array matrix(const std::shared_ptr<const Checkpoint>& checkpoint,
                              const std::string& name, const std::vector<int64_t>& dims,
                              mil::DataType type) const = 0;
};

// BitNet's: U8 "weight" (out / 4, in), where bits 2i of a byte are one more than the value of row
// byte_row + i * out / 4, and "weight_scale" (1), which multiplies the values or divides them.
std::shared_ptr<const PackedWeights> ternary_weights(bool divides);

}  // namespace pippin::nn
