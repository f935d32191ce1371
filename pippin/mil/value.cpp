#include "pippin/mil/value.h"

#include <algorithm>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/mil/elements.h"

namespace pippin::mil {
namespace {

// The number of elements of a tensor with a static shape; messages name the type.
int64_t count_elements(const Value& value) {
  if (!value.type.is_static()) {
    fail(ErrorCode::InvalidFile, "a value of type {} has no elements to read",
         to_string(value.type));
  }
  return value.type.num_elements();
}

template <typename T>
Value of_elements(DataType type, std::vector<int64_t> dims, std::span<const T> values) {
  Value result;
  result.type = ValueType::tensor(type, std::move(dims));
  const auto bytes = std::as_bytes(values);
  result.bytes.assign(bytes.begin(), bytes.end());
  return result;
}

// Calls visit(bits) for every element of a numeric tensor.
template <typename Visit>
void for_each_element(const Value& value, Visit&& visit) {
  const DataType type = value.type.data_type;
  if (!value.type.is_tensor() || type == DataType::String) {
    fail(ErrorCode::InvalidFile, "a value of type {} does not hold numbers", to_string(value.type));
  }
  const auto count = static_cast<size_t>(count_elements(value));
  const std::vector<std::byte> bytes = value.read_bytes();
  for (size_t i = 0; i < count; ++i) visit(element_bits(type, bytes, i));
}

}  // namespace

Value::Value() = default;
Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) = default;
Value& Value::operator=(Value&& other) noexcept = default;
Value::~Value() = default;

Value Value::of_int32(int32_t value) {
  return of_elements<int32_t>(DataType::Int32, {}, {&value, 1});
}

Value Value::of_int32s(std::span<const int32_t> values) {
  return of_elements<int32_t>(DataType::Int32, {static_cast<int64_t>(values.size())}, values);
}

Value Value::of_bool(bool value) {
  Value result;
  result.type = ValueType::scalar(DataType::Bool);
  result.bytes.push_back(static_cast<std::byte>(value));
  return result;
}

Value Value::of_bools(const std::vector<bool>& values) {
  Value result;
  result.type = ValueType::tensor(DataType::Bool, {static_cast<int64_t>(values.size())});
  for (const bool value : values) result.bytes.push_back(static_cast<std::byte>(value));
  return result;
}

Value Value::of_string(std::string value) {
  Value result;
  result.type = ValueType::scalar(DataType::String);
  result.strings.push_back(std::move(value));
  return result;
}

Value Value::of_float(DataType type, double value) {
  return of_floats(type, {&value, 1}, {});
}

Value Value::of_floats(DataType type, std::span<const double> values, std::vector<int64_t> dims) {
  Value result;
  result.type = ValueType::tensor(type, std::move(dims));
  if (!is_float(type) || !result.type.is_static() ||
      result.type.num_elements() != static_cast<int64_t>(values.size())) {
    fail(ErrorCode::InvalidArgument, "{} numbers do not make a {}", values.size(),
         to_string(result.type));
  }
  result.bytes.resize(packed_size(type, static_cast<int64_t>(values.size())));
  set_floats(type, result.bytes, 0, values);
  return result;
}

Value Value::of_source(ValueType type, std::shared_ptr<const TensorSource> source) {
  Value result;
  result.type = std::move(type);
  result.source = std::move(source);
  if (!result.type.is_static() || result.type.data_type == DataType::String ||
      packed_size(result.type.data_type, result.type.num_elements()) != result.source->size()) {
    fail(ErrorCode::InvalidArgument, "a source of {} bytes is not a {}", result.source->size(),
         to_string(result.type));
  }
  return result;
}

std::vector<std::byte> Value::read_bytes() const {
  if (!type.is_tensor() || type.data_type == DataType::String) {
    fail(ErrorCode::InvalidFile, "a value of type {} has no bytes", to_string(type));
  }
  if (source == nullptr && blob) {
    fail(ErrorCode::NotFound, "{}: the weight file is missing", blob->path);
  }
  const uint64_t expected = packed_size(type.data_type, count_elements(*this));
  const uint64_t found = source != nullptr ? source->size() : bytes.size();
  if (found != expected) {
    fail(ErrorCode::InvalidFile, "a {} needs {} bytes, the value has {}", to_string(type), expected,
         found);
  }
  if (source == nullptr) return bytes;
  std::vector<std::byte> result(expected);
  source->read(0, result);
  return result;
}

std::vector<double> Value::to_doubles() const {
  std::vector<double> result;
  for_each_element(*this,
                   [&](uint64_t bits) { result.push_back(bits_to_double(type.data_type, bits)); });
  return result;
}

std::vector<int64_t> Value::to_ints() const {
  if (!is_integer(type.data_type) && type.data_type != DataType::Bool) {
    fail(ErrorCode::InvalidFile, "a value of type {} does not hold integers", to_string(type));
  }
  std::vector<int64_t> result;
  for_each_element(*this,
                   [&](uint64_t bits) { result.push_back(bits_to_int(type.data_type, bits)); });
  return result;
}

const std::string& Value::to_string_value() const {
  if (!type.is_tensor() || type.data_type != DataType::String || strings.size() != 1) {
    fail(ErrorCode::InvalidFile, "a value of type {} is not one string", to_string(type));
  }
  return strings.front();
}

bool equal(const Value& a, const Value& b) {
  if (a.type != b.type || a.strings != b.strings || a.elements.size() != b.elements.size()) {
    return false;
  }
  if (!std::equal(a.elements.begin(), a.elements.end(), b.elements.begin(), equal)) return false;
  const bool a_external = a.source != nullptr || a.blob, b_external = b.source != nullptr || b.blob;
  if (!a_external && !b_external) return a.bytes == b.bytes;
  if (a.source != nullptr && a.source == b.source) return true;
  if (a.source == nullptr && b.source == nullptr && a.blob == b.blob) return true;
  return a.read_bytes() == b.read_bytes();
}

}  // namespace pippin::mil
