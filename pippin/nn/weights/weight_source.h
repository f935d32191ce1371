// Tensors of a checkpoint as TensorSources: mapped as they are, or converted while they stream.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/io/checkpoint.h"
#include "pippin/mil/data_type.h"
#include "pippin/mil/value.h"

namespace pippin::nn {

// The element type in a program for a checkpoint's, fp32 for F64; throws Unsupported, naming the
// tensor, for types that language models' weights do not have (integers, 8-bit floats).
mil::DataType weight_type(const TensorInfo& tensor);

// The tensor `name` as elements of `type`; a view of the file if it has that type. Numbers are
// rounded to fp16: a value beyond its range becomes infinite, with one warning per tensor.
std::shared_ptr<const mil::TensorSource> weight_source(std::shared_ptr<const Checkpoint> checkpoint,
                                                       std::string_view name, mil::DataType type);

// The matrix (rows, columns) of a source that holds (columns, rows).
std::shared_ptr<const mil::TensorSource> transposed_source(
    std::shared_ptr<const mil::TensorSource> source, uint64_t rows, uint64_t columns,
    size_t element_bytes);

// The given rows of a source, in their order; a view of it if they are adjacent.
std::shared_ptr<const mil::TensorSource> rows_source(
    std::shared_ptr<const mil::TensorSource> source, uint64_t row_bytes,
    const std::vector<int64_t>& rows);

// The sources one after another, and bytes in memory as one.
std::shared_ptr<const mil::TensorSource> joined_source(
    std::vector<std::shared_ptr<const mil::TensorSource>> parts);
std::shared_ptr<const mil::TensorSource> bytes_source(std::vector<std::byte> bytes);

}  // namespace pippin::nn
