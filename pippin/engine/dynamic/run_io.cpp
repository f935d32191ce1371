#include "pippin/engine/dynamic/run_io.h"

#include <cstring>

#include <fmt/ranges.h>

#include "pippin/base/error.h"

namespace pippin::engine {

using mil::Tensor;
using mil::Var;

RunValue to_input(const Var& var, const HostTensor& given) {
  const std::vector<int64_t>& dims = var.type.dims;
  std::vector<int64_t> shape = given.shape;
  if (var.type.ranked && dims.empty() && shape == std::vector<int64_t>{1}) shape.clear();
  bool fits = !var.type.ranked || dims.size() == shape.size();
  for (size_t i = 0; fits && var.type.ranked && i < dims.size(); ++i) {
    fits = dims[i] < 0 || dims[i] == shape[i];
  }
  if (!fits) {
    fail(ErrorCode::InvalidArgument, "input '{}' is {}, not of shape {}", var.name,
         mil::to_string(var.type), given.shape);
  }
  const mil::DataType type = var.type.data_type;
  const bool as_it_is = given.type == type &&
                        (type == mil::DataType::Float32 || type == mil::DataType::Int32) &&
                        given.bytes.size() == mil::packed_size(type, mil::num_elements(shape));
  if (as_it_is) return RunValue(type, std::move(shape), given.bytes);
  Tensor tensor = to_tensor(given);
  tensor.shape = std::move(shape);
  tensor.type = type;
  round_to_type(tensor);
  return RunValue(std::move(tensor));
}

HostTensor to_output(const Var& var, const RunValue& value) {
  if (var.type.is_tensor() && value.type() == mil::DataType::Float32) {
    HostTensor host;
    host.type = value.type();
    host.shape = value.shape();
    host.bytes = value.bytes();
    return host;
  }
  Tensor tensor = value.tensor();
  if (var.type.is_tensor() && tensor.type != mil::DataType::String) round_to_type(tensor);
  return to_host(tensor);
}

void copy_input(const RunValue& value, const Var& var, Execution& execution, size_t index) {
  const std::vector<std::byte>& bytes = value.bytes();
  const MutableByteSpan target = execution.input_bytes(index);
  if (bytes.size() != target.size()) {
    fail(ErrorCode::Internal, "input '{}' has {} bytes, its plan takes {}", var.name, bytes.size(),
         target.size());
  }
  if (!bytes.empty()) std::memcpy(target.data(), bytes.data(), bytes.size());
}

RunValue copy_output(const Execution& execution, size_t index, const Var& var) {
  const auto elements = execution.int_output(index);  // 4 bytes each, whatever the type
  std::vector<std::byte> bytes(elements.size() * sizeof(int32_t));
  if (!bytes.empty()) std::memcpy(bytes.data(), elements.data(), bytes.size());
  if (var.type.data_type == mil::DataType::Bool) {
    for (size_t i = 0; i < elements.size(); ++i) bytes[i] = std::byte{elements[i] != 0};
    bytes.resize(elements.size());
  }
  return RunValue(var.type.data_type, execution.output_shape(index), std::move(bytes));
}

}  // namespace pippin::engine
