#include "pippin/api/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/api/elements.h"
#include "pippin/base/checked.h"

namespace pippin {
namespace {

struct Row {
  DataType type;
  std::string_view name;
  int64_t bytes;
};
// In the order of the enum.
constexpr Row kRows[] = {
    {DataType::Bool, "bool", 1},       {DataType::Int8, "int8", 1},
    {DataType::UInt8, "uint8", 1},     {DataType::Int16, "int16", 2},
    {DataType::UInt16, "uint16", 2},   {DataType::Int32, "int32", 4},
    {DataType::UInt32, "uint32", 4},   {DataType::Int64, "int64", 8},
    {DataType::UInt64, "uint64", 8},   {DataType::Float16, "float16", 2},
    {DataType::Float32, "float32", 4}, {DataType::Float64, "float64", 8},
    {DataType::String, "string", 0},
};

int64_t count_elements(const std::vector<int64_t>& shape) {
  std::optional<int64_t> count = 1;
  for (const int64_t size : shape) {
    if (size < 0) {
      fail(ErrorCode::InvalidArgument, "a tensor of shape {} has a negative size", shape);
    }
    if (count) count = checked_mul(*count, size);
  }
  // Eight bytes at most for each.
  if (!count || !checked_mul(*count, int64_t{8})) {
    fail(ErrorCode::LimitExceeded, "a tensor of shape {} is too large", shape);
  }
  return *count;
}

std::string element_text(const Tensor& tensor, size_t index) {
  return elements::with_type(tensor.type(), [&]<typename T>(std::type_identity<T>) {
    T value;
    std::memcpy(&value, tensor.bytes().data() + index * sizeof(T), sizeof(T));
    if constexpr (std::is_same_v<T, float16>) {
      return fmt::format("{}", to_float(value));
    } else {
      return fmt::format("{}", value);
    }
  });
}

}  // namespace

std::string_view to_string(DataType type) {
  return kRows[static_cast<size_t>(type)].name;
}

int64_t byte_size(DataType type) {
  return kRows[static_cast<size_t>(type)].bytes;
}

Tensor::Tensor(DataType type, std::vector<int64_t> shape)
    : type_(type), shape_(std::move(shape)), size_(count_elements(shape_)) {
  if (type == DataType::String) {
    strings_.resize(static_cast<size_t>(size_));
  } else {
    bytes_.resize(static_cast<size_t>(size_ * byte_size(type)));
  }
}

Tensor Tensor::from_bytes(DataType type, std::span<const std::byte> bytes,
                          std::vector<int64_t> shape) {
  const int64_t needed = count_elements(shape) * byte_size(type);
  if (type == DataType::String || static_cast<size_t>(needed) != bytes.size()) {
    fail(ErrorCode::InvalidArgument, "a {} tensor of shape {} from {} bytes", to_string(type),
         shape, bytes.size());
  }
  Tensor result;
  result.type_ = type;
  result.shape_ = std::move(shape);
  result.size_ = needed / byte_size(type);
  result.bytes_.assign(bytes.begin(), bytes.end());
  return result;
}

Tensor Tensor::from_strings(std::vector<std::string> strings, std::vector<int64_t> shape) {
  if (static_cast<size_t>(count_elements(shape)) != strings.size()) {
    fail(ErrorCode::InvalidArgument, "a tensor of shape {} from {} strings", shape, strings.size());
  }
  Tensor result;
  result.type_ = DataType::String;
  result.shape_ = std::move(shape);
  result.size_ = static_cast<int64_t>(strings.size());
  result.strings_ = std::move(strings);
  return result;
}

void Tensor::check_type(DataType wanted) const {
  if (type_ != wanted) {
    fail(ErrorCode::InvalidArgument, "a {} tensor is read as {}", to_string(type_),
         to_string(wanted));
  }
}

std::vector<float> Tensor::to_floats() const {
  std::vector<float> result(static_cast<size_t>(size_));
  elements::convert(type_, bytes_, DataType::Float32,
                    std::as_writable_bytes(std::span<float>(result)), false);
  return result;
}

std::vector<double> Tensor::to_doubles() const {
  std::vector<double> result(static_cast<size_t>(size_));
  elements::convert(type_, bytes_, DataType::Float64,
                    std::as_writable_bytes(std::span<double>(result)), false);
  return result;
}

Tensor Tensor::to(DataType type) const {
  if (type == type_) return *this;
  if (type == DataType::String || type_ == DataType::String) {
    fail(ErrorCode::InvalidArgument, "{} cannot become {}", to_string(type_), to_string(type));
  }
  Tensor result(type, shape_);
  if (const auto index = elements::convert(type_, bytes_, type, result.bytes_, true)) {
    fail(ErrorCode::InvalidArgument, "element {} is {}, which {} cannot hold", *index,
         element_text(*this, *index), to_string(type));
  }
  return result;
}

Tensor Tensor::reshaped(std::vector<int64_t> shape) const {
  if (count_elements(shape) != size_) {
    fail(ErrorCode::InvalidArgument, "shape {} cannot become {}", shape_, shape);
  }
  Tensor result = *this;
  result.shape_ = std::move(shape);
  return result;
}

const Tensor& tensor_at(const Values& values, std::string_view name) {
  const auto found = values.find(name);
  if (found == values.end()) fail(ErrorCode::NotFound, "there is no value '{}'", name);
  const auto* tensor = std::get_if<Tensor>(&found->second);
  if (tensor == nullptr) fail(ErrorCode::InvalidArgument, "'{}' is no tensor", name);
  return *tensor;
}

namespace elements {

std::optional<size_t> convert(DataType from, std::span<const std::byte> source, DataType to,
                              std::span<std::byte> target, bool exact) {
  return with_type(from, [&]<typename From>(std::type_identity<From>) {
    return with_type(to, [&]<typename To>(std::type_identity<To>) -> std::optional<size_t> {
      const From* begin = reinterpret_cast<const From*>(source.data());
      To* out = reinterpret_cast<To*>(target.data());
      for (size_t i = 0; i < source.size() / sizeof(From); ++i) {
        out[i] = nearest<To>(begin[i]);
        bool kept = keeps(begin[i], out[i]);
        if constexpr (std::is_same_v<To, uint8_t>) {
          if (to == DataType::Bool) kept = kept && out[i] <= 1;
        }
        if (exact && !kept) return i;
      }
      return std::nullopt;
    });
  });
}

}  // namespace elements
}  // namespace pippin
