// Weights of network layers, as fp32 elements computed on reading.
//
// A file stores them in fp32, in fp16, as signed bytes, or in 1 to 8 bits with a scale and a bias
// or a table of values. Sources keep only views of the file's bytes; `owner` keeps these valid.
#pragma once

#include <memory>
#include <vector>

#include "pippin/mil/derived_source.h"
#include "pippin/mil/networks/fields.h"

namespace pippin::mil::networks {

using Owner = std::shared_ptr<const void>;

// Whether a WeightParams message holds values; an empty one means that there are no weights.
bool has_weights(const Fields& message);

// The elements of a WeightParams message, which must be as many as `shape` has. Scales that differ
// by output channel belong to `channel_axis`. Throws InvalidFile if counts do not match.
std::shared_ptr<const TensorSource> weight_source(const Fields& message,
                                                  const std::vector<int64_t>& shape,
                                                  const Owner& owner, size_t channel_axis = 0);

// The elements of several sources, one after the other.
std::shared_ptr<const TensorSource> joined_source(
    std::vector<std::shared_ptr<const TensorSource>> parts);

// A matrix [rows, columns] as [columns, rows].
std::shared_ptr<const TensorSource> transposed_source(std::shared_ptr<const TensorSource> source,
                                                      int64_t rows, int64_t columns);

// fp32 or fp16 elements as stored in a file.
std::shared_ptr<const TensorSource> stored_source(ByteSpan bytes, bool half, const Owner& owner);

// Elements in memory.
std::shared_ptr<const TensorSource> float_source(const std::vector<float>& values);

std::vector<float> read_floats(const TensorSource& source);

}  // namespace pippin::mil::networks
