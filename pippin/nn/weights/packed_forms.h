// Packed matrices in programs: the nearest of Core ML's compressed forms, which a plan multiplies
// without expanding it, or the values.
//
// Integers with scales become constexpr_blockwise_shift_scale, palettes constexpr_lut_to_dense with
// the scales in the palettes. In fp32 the forms are exact, except that biases and scaled palettes
// are rounded to fp32; in fp16, scales, shifts and palettes are rounded. If the groups of a row are
// ragged, or palettes would take more memory than values, the program holds the values.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/weights/packed_matrix.h"

namespace pippin::nn {

// `dims` are those of the value: (rows, columns), or with rows split into leading axes. `type` is
// Float16 or Float32.
array::Array packed_array(const std::string& name, PackedPtr matrix,
                          const std::vector<int64_t>& dims, mil::DataType type);

// The values as elements of `type`, in the order of the layer's inputs. A warning, once, names the
// matrix if fp16 makes some infinite.
std::shared_ptr<const mil::TensorSource> packed_elements(PackedPtr matrix, mil::DataType type,
                                                         std::string name = {});

// Whether packed_array() gives values.
bool becomes_values(const PackedLayout& layout, mil::DataType type);

// The error of packed_array() in fp16 compared with the values: sums of squares over some of the
// rows, evenly spaced and at most that many.
struct PackedError {
  double error = 0, total = 0;
};
PackedError packed_error(const PackedMatrix& matrix, int64_t most_rows);

}  // namespace pippin::nn
