// What becomes of a packed matrix in a program: the nearest of Core ML's compressed forms, in which
// a plan multiplies without expanding it, or its values.
//
// Integers with scales become constexpr_blockwise_shift_scale, palettes constexpr_lut_to_dense with
// the scales in the palettes. Of fp32 the forms are exact, biases and scaled palettes to a rounding
// of fp32; of fp16 scales, shifts and palettes are rounded. Where the groups of a row are ragged,
// or palettes would take more room than values, the values stand there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/weights/packed_matrix.h"

namespace pippin::nn {

// `dims` are those of the value: (rows, columns), or with rows taken apart in front. `type` is
// Float16 or Float32.
array::Array packed_array(const std::string& name, PackedPtr matrix,
                          const std::vector<int64_t>& dims, mil::DataType type);

// The values as elements of `type`, in the order of the layer's inputs. A warning, once, names the
// matrix where fp16 makes some infinite.
std::shared_ptr<const mil::TensorSource> packed_elements(PackedPtr matrix, mil::DataType type,
                                                         std::string name = {});

// Whether packed_array() gives values.
bool becomes_values(const PackedLayout& layout, mil::DataType type);

// How far what packed_array() gives of fp16 is from the values: sums of squares over some of the
// rows, evenly spaced and at most that many.
struct PackedError {
  double error = 0, total = 0;
};
PackedError packed_error(const PackedMatrix& matrix, int64_t most_rows);

}  // namespace pippin::nn
