#include "pippin/engine/host_tensor.h"

#include <fmt/ranges.h>

#include "pippin/base/error.h"

namespace pippin::engine {

HostTensor to_host(const mil::Tensor& tensor) {
  if (tensor.kind == mil::ValueType::Kind::Dictionary) {
    HostTensor host = to_host(*tensor.items.at(1));
    const mil::Tensor& keys = *tensor.items.at(0);
    host.string_keys = keys.strings;
    for (const double key : keys.values) host.int_keys.push_back(static_cast<int64_t>(key));
    return host;
  }
  if (tensor.kind != mil::ValueType::Kind::Tensor) {
    fail(ErrorCode::Unsupported, "a list cannot leave the program");
  }
  HostTensor host;
  host.type = tensor.type;
  host.shape = tensor.shape;
  host.strings = tensor.strings;
  if (tensor.type != mil::DataType::String) host.bytes = mil::to_bytes(tensor);
  return host;
}

mil::Tensor to_tensor(const HostTensor& tensor) {
  const int64_t count = mil::num_elements(tensor.shape);
  if (tensor.type == mil::DataType::String) {
    mil::Tensor result;
    result.type = tensor.type;
    result.shape = tensor.shape;
    result.strings = tensor.strings;
    if (result.size() == count) return result;
    fail(ErrorCode::InvalidArgument, "a tensor of shape {} has {} strings", tensor.shape,
         result.size());
  }
  if (tensor.bytes.size() != mil::packed_size(tensor.type, count)) {
    fail(ErrorCode::InvalidArgument, "a {} tensor of shape {} has {} bytes",
         mil::to_string(tensor.type), tensor.shape, tensor.bytes.size());
  }
  return mil::tensor_from_bytes(tensor.type, tensor.shape, tensor.bytes);
}

}  // namespace pippin::engine
