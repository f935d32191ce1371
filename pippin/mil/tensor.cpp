#include "pippin/mil/tensor.h"

#include <algorithm>
#include <cmath>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/mil/elements.h"

namespace pippin::mil {
namespace {

thread_local int64_t element_limit = int64_t{1} << 31;

struct IntegerRange {
  explicit IntegerRange(DataType type)
      : bits(bit_width(type)),
        lowest(is_signed_integer(type) ? -std::ldexp(1.0, bits - 1) : 0.0),
        highest(std::ldexp(1.0, is_signed_integer(type) ? bits - 1 : bits) - 1.0) {}
  int bits;
  double lowest, highest;
};

double wrap_integer(double value, DataType type) {
  if (std::isnan(value)) return 0.0;
  const auto [bits, lowest, highest] = IntegerRange(type);
  const double truncated = std::trunc(value);
  if (truncated >= lowest && truncated <= highest) return truncated + 0.0;
  // Values too large to wrap exactly become the nearest end.
  if (std::abs(truncated) >= 0x1p62) return truncated < 0 ? lowest : highest;
  const double range = std::ldexp(1.0, bits);
  double wrapped = std::fmod(truncated - lowest, range);
  if (wrapped < 0) wrapped += range;
  return wrapped + lowest;
}

}  // namespace

ElementLimit::ElementLimit(int64_t max_elements) : previous_(element_limit) {
  element_limit = max_elements;
}
ElementLimit::~ElementLimit() {
  element_limit = previous_;
}

int64_t num_elements(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  bool overflow = false;
  for (const int64_t dim : shape) {
    if (dim < 0) fail(ErrorCode::LimitExceeded, "a dimension is {}", dim);
    if (dim == 0) return 0;
    const auto product = checked_mul<int64_t>(count, dim);
    overflow = overflow || !product;
    count = product.value_or(1);
  }
  if (overflow) fail(ErrorCode::LimitExceeded, "the number of elements overflows");
  return count;
}

void check_element_count(int64_t count) {
  if (count < 0 || count > element_limit) {
    fail(ErrorCode::LimitExceeded, "a value of {} elements, the limit is {}", count, element_limit);
  }
}

Tensor::Tensor(DataType element_type, std::vector<int64_t> dims)
    : type(element_type), shape(std::move(dims)) {
  const int64_t count = num_elements(shape);
  check_element_count(count);
  if (type == DataType::String) {
    strings.resize(static_cast<size_t>(count));
  } else {
    values.resize(static_cast<size_t>(count));
  }
}

Tensor Tensor::scalar(DataType type, double value) {
  Tensor result(type, {});
  result.values[0] = value;
  return result;
}

Tensor Tensor::list(DataType element_type, std::vector<int64_t> element_dims) {
  Tensor result;
  result.kind = ValueType::Kind::List;
  result.type = element_type;
  result.shape = std::move(element_dims);
  return result;
}

Tensor Tensor::dictionary(Tensor keys, Tensor values) {
  Tensor result;
  result.kind = ValueType::Kind::Dictionary;
  result.type = values.type;
  result.shape = values.shape;
  result.items = {std::make_shared<const Tensor>(std::move(keys)),
                  std::make_shared<const Tensor>(std::move(values))};
  return result;
}

double round_to_type(double value, DataType type) {
  switch (type) {
    case DataType::Float64:
      return value;
    case DataType::Float32:
      return static_cast<double>(static_cast<float>(value));
    case DataType::Float16:
    case DataType::BFloat16:
    case DataType::Float8E4M3FN:
    case DataType::Float8E5M2:
      return bits_to_double(type, float_to_bits(type, value));
    case DataType::Bool:
      return value != 0 ? 1.0 : 0.0;
    case DataType::String:
      return value;
    default:
      return wrap_integer(value, type);
  }
}

double saturate_to_type(double value, DataType type) {
  if (std::isnan(value)) return 0.0;
  const IntegerRange range(type);
  return std::clamp(std::trunc(value), range.lowest, range.highest) + 0.0;
}

void round_to_type(Tensor& tensor) {
  for (double& value : tensor.values) value = round_to_type(value, tensor.type);
}

Tensor tensor_from_bytes(DataType type, std::vector<int64_t> shape, ByteSpan bytes) {
  if (type == DataType::String) fail(ErrorCode::InvalidArgument, "strings have no packed bytes");
  const uint64_t needed = packed_size(type, num_elements(shape));
  if (bytes.size() != needed) {
    fail(ErrorCode::InvalidFile, "a {} tensor of {} elements needs {} bytes, there are {}",
         to_string(type), num_elements(shape), needed, bytes.size());
  }
  Tensor result(type, std::move(shape));
  for (size_t i = 0; i < result.values.size(); ++i) {
    const uint64_t bits = element_bits(type, bytes, i);
    result.values[i] =
        type == DataType::Bool ? static_cast<double>(bits != 0) : bits_to_double(type, bits);
  }
  return result;
}

std::vector<std::byte> to_bytes(const Tensor& tensor) {
  if (tensor.type == DataType::String) {
    fail(ErrorCode::InvalidArgument, "strings have no packed bytes");
  }
  std::vector<std::byte> bytes(packed_size(tensor.type, tensor.size()));
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    const double value = round_to_type(tensor.values[i], tensor.type);
    const uint64_t bits = is_float(tensor.type) ? float_to_bits(tensor.type, value)
                          : tensor.type == DataType::UInt64 && value >= 0x1p63
                              ? static_cast<uint64_t>(value)
                              : static_cast<uint64_t>(static_cast<int64_t>(value));
    set_element_bits(tensor.type, bytes, i, bits);
  }
  return bytes;
}

Tensor to_tensor(const Value& value) {
  if (value.type.kind == ValueType::Kind::List && value.type.parameters.at(0).is_tensor()) {
    const ValueType& element = value.type.parameters[0];
    Tensor result = Tensor::list(element.data_type, element.dims);
    for (const Value& item : value.elements) {
      result.items.push_back(std::make_shared<const Tensor>(to_tensor(item)));
    }
    return result;
  }
  if (!value.type.is_tensor()) {
    fail(ErrorCode::InvalidFile, "a tensor is needed, not a {}", to_string(value.type));
  }
  if (value.type.data_type == DataType::String) {
    Tensor result(DataType::String, value.type.dims);
    if (result.strings.size() != value.strings.size()) {
      fail(ErrorCode::InvalidFile, "{} holds {} strings", to_string(value.type),
           value.strings.size());
    }
    result.strings = value.strings;
    return result;
  }
  return tensor_from_bytes(value.type.data_type, value.type.dims, value.read_bytes());
}

Value to_value(const Tensor& tensor) {
  Value value;
  if (tensor.kind == ValueType::Kind::List) {
    value.type.kind = ValueType::Kind::List;
    value.type.parameters = {ValueType::tensor(tensor.type, tensor.shape)};
    value.type.list_length = static_cast<int64_t>(tensor.items.size());
    for (const auto& item : tensor.items) {
      if (item == nullptr) fail(ErrorCode::InvalidArgument, "a list with elements not written yet");
      value.elements.push_back(to_value(*item));
    }
    return value;
  }
  if (tensor.kind != ValueType::Kind::Tensor) {
    fail(ErrorCode::InvalidArgument, "neither a tensor nor a list");
  }
  value.type = ValueType::tensor(tensor.type, tensor.shape);
  if (tensor.type == DataType::String) {
    value.strings = tensor.strings;
  } else {
    value.bytes = to_bytes(tensor);
  }
  return value;
}

}  // namespace pippin::mil
