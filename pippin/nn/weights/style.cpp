#include "pippin/nn/weights/style.h"

#include <numeric>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/nn/weights/weight_source.h"

namespace pippin::nn {

using array::Array;

namespace {

const mil::Value& value_of(const Array& x, std::string_view name) {
  const mil::Value* value = x.info().constant;
  if (value == nullptr) {
    fail(ErrorCode::Unsupported,
         "'{}' is compressed and the new shape needs it in another form: change the shape before "
         "compressing",
         name);
  }
  return *value;
}

}  // namespace

Array to_channels(const Array& x) {
  return array::expand_dims(array::transpose(x, {0, 2, 1}), {2});
}

Array to_rows(const Array& x) {
  return array::transpose(array::squeeze(x, {2}), {0, 2, 1});
}

Array with_dims(const Array& x, std::string_view name, std::vector<int64_t> dims) {
  mil::Value value = value_of(x, name);
  value.type = mil::ValueType::tensor(x.type(), std::move(dims));
  return array::constant(std::move(value), name);
}

Array constant_rows(const Array& x, std::string_view name, int64_t begin, int64_t end) {
  mil::Value value = value_of(x, name);
  std::vector<int64_t> dims = value.type.dims;
  const int64_t row_elements = value.type.num_elements() / dims.at(0);
  const auto row_bytes = static_cast<size_t>(mil::packed_size(x.type(), row_elements));
  dims[0] = end - begin;
  value.type = mil::ValueType::tensor(x.type(), dims);
  if (value.source != nullptr) {
    std::vector<int64_t> rows(static_cast<size_t>(end - begin));
    std::iota(rows.begin(), rows.end(), begin);
    value.source = rows_source(value.source, row_bytes, rows);
  } else {
    const auto first = value.bytes.begin() + begin * static_cast<int64_t>(row_bytes);
    value.bytes = {first, first + (end - begin) * static_cast<int64_t>(row_bytes)};
  }
  return array::constant(std::move(value), name);
}

}  // namespace pippin::nn
