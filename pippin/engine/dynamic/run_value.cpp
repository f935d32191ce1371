#include "pippin/engine/dynamic/run_value.h"

#include <cstring>
#include <type_traits>

#include "pippin/engine/nodes/buffer.h"

namespace pippin::engine {
namespace {

template <typename T>
std::vector<std::byte> pack(const mil::Tensor& tensor) {
  std::vector<std::byte> bytes(tensor.values.size() * sizeof(T));
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    T value;
    if constexpr (std::is_floating_point_v<T>) {
      value = static_cast<T>(tensor.values[i]);
    } else {  // unsigned 32-bit numbers keep their bits
      value = static_cast<T>(static_cast<int64_t>(tensor.values[i]));
    }
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

template <typename T>
void unpack(const std::vector<std::byte>& bytes, mil::Tensor& tensor) {
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    tensor.values[i] = static_cast<double>(value);
  }
}

}  // namespace

RunValue::RunValue(mil::Tensor tensor)
    : type_(tensor.type),
      shape_(tensor.shape),
      tensor_(std::make_shared<const mil::Tensor>(std::move(tensor))) {}

RunValue::RunValue(mil::DataType type, std::vector<int64_t> shape, std::vector<std::byte> bytes)
    : type_(type),
      shape_(std::move(shape)),
      bytes_(std::make_shared<const std::vector<std::byte>>(std::move(bytes))) {}

const mil::Tensor& RunValue::tensor() const {
  if (tensor_ == nullptr) {
    mil::Tensor tensor(type_, shape_);
    switch (run_storage(type_)) {
      case Storage::F32:
        unpack<float>(*bytes_, tensor);
        break;
      case Storage::I32:
        unpack<int32_t>(*bytes_, tensor);
        break;
      default:
        unpack<uint8_t>(*bytes_, tensor);
        break;
    }
    tensor_ = std::make_shared<const mil::Tensor>(std::move(tensor));
  }
  return *tensor_;
}

const std::vector<std::byte>& RunValue::bytes() const {
  if (bytes_ == nullptr) {
    const Storage storage = run_storage(type_);
    bytes_ = std::make_shared<const std::vector<std::byte>>(
        storage == Storage::F32   ? pack<float>(*tensor_)
        : storage == Storage::I32 ? pack<int32_t>(*tensor_)
                                  : pack<uint8_t>(*tensor_));
  }
  return *bytes_;
}

std::optional<std::vector<int64_t>> RunValue::integers(int64_t limit) const {
  if (!is_plain() || (!mil::is_integer(type_) && type_ != mil::DataType::Bool)) {
    return std::nullopt;
  }
  if (mil::num_elements(shape_) > limit) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const double value : tensor().values) numbers.push_back(static_cast<int64_t>(value));
  return numbers;
}

}  // namespace pippin::engine
