#include "pippin/api/tensor.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/api/elements.h"
#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"

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
  // At most eight bytes each.
  if (!count || !checked_mul(*count, int64_t{8})) {
    fail(ErrorCode::LimitExceeded, "a tensor of shape {} is too large", shape);
  }
  return *count;
}

std::string element_text(const Tensor& tensor, size_t index) {
  return elements::with_type(tensor.type(), [&]<typename T>(std::type_identity<T>) {
    T value;
    std::memcpy(&value, tensor.copy().bytes().data() + index * sizeof(T), sizeof(T));
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

// Memory owned by the caller.
struct Tensor::Wrapped {
  Wrapped(std::byte* data, std::vector<int64_t> steps, bool plain, bool may_write)
      : first(data), strides(std::move(steps)), contiguous(plain), writable(may_write) {}
  Wrapped(const Wrapped&) = delete;
  Wrapped& operator=(const Wrapped&) = delete;
  ~Wrapped() {
    if (release) release();
  }

  std::byte* first;
  std::vector<int64_t> strides;
  bool contiguous, writable;
  std::function<void()> release;  // set when nothing can fail any more
};

Tensor Tensor::wrap(DataType type, std::vector<int64_t> shape, std::byte* data,
                    std::vector<int64_t> strides, bool writable, std::function<void()> release) {
  if (type == DataType::String) {
    fail(ErrorCode::InvalidArgument, "strings cannot be wrapped: they have no memory of one size");
  }
  Tensor result;
  result.type_ = type;
  result.size_ = count_elements(shape);
  if (data == nullptr && result.size_ > 0) {
    fail(ErrorCode::InvalidArgument, "a {} tensor of shape {} at no address", to_string(type),
         shape);
  }
  const std::vector<int64_t> plain = elements::plain_strides(type, shape);
  if (strides.empty()) strides = plain;
  if (strides.size() != shape.size()) {
    fail(ErrorCode::InvalidArgument, "{} strides for a tensor of shape {}", strides.size(), shape);
  }
  if (result.size_ > 0) {
    elements::check_extent(type, shape, strides, reinterpret_cast<uintptr_t>(data));
  }
  const bool contiguous = elements::is_plain(shape, strides, plain);
  const auto wrapped = std::make_shared<Wrapped>(data, std::move(strides), contiguous, writable);
  result.shape_ = std::move(shape);
  wrapped->release = std::move(release);
  result.wrapped_ = wrapped;
  return result;
}

Tensor Tensor::wrap(DataType type, std::vector<int64_t> shape, void* data,
                    std::vector<int64_t> strides, std::function<void()> release) {
  return wrap(type, std::move(shape), static_cast<std::byte*>(data), std::move(strides), true,
              std::move(release));
}

Tensor Tensor::wrap(DataType type, std::vector<int64_t> shape, const void* data,
                    std::vector<int64_t> strides, std::function<void()> release) {
  // Writes are rejected if the memory is not writable.
  auto* const bytes = const_cast<std::byte*>(static_cast<const std::byte*>(data));
  return wrap(type, std::move(shape), bytes, std::move(strides), false, std::move(release));
}

bool Tensor::is_contiguous() const {
  return wrapped_ == nullptr || wrapped_->contiguous;
}

bool Tensor::is_writable() const {
  return wrapped_ == nullptr || wrapped_->writable;
}

std::vector<int64_t> Tensor::strides() const {
  return wrapped_ != nullptr ? wrapped_->strides : elements::plain_strides(type_, shape_);
}

const std::byte* Tensor::first_byte() const {
  return wrapped_ != nullptr ? wrapped_->first : bytes_.data();
}

Tensor Tensor::copy() const {
  if (wrapped_ == nullptr) return *this;
  Tensor result(type_, shape_);
  copy_to(result.bytes_);
  return result;
}

Tensor Tensor::shared(Tensor tensor) {
  if (tensor.is_wrapped() || tensor.type() == DataType::String) return tensor;
  const auto owner = std::make_shared<Tensor>(std::move(tensor));
  void* const data = owner->bytes().data();
  return wrap(owner->type(), owner->shape(), data, {}, [owner] {});
}

void Tensor::check_copy(size_t bytes) const {
  if (type_ == DataType::String || bytes != static_cast<size_t>(size_ * byte_size(type_))) {
    fail(ErrorCode::InvalidArgument, "a {} tensor of shape {} and {} bytes", to_string(type_),
         shape_, bytes);
  }
}

void Tensor::copy_to(std::span<std::byte> target) const {
  check_copy(target.size());
  if (target.empty()) return;
  if (is_contiguous()) {
    std::memcpy(target.data(), first_byte(), target.size());
  } else {
    elements::pack(type_, shape_, wrapped_->strides, wrapped_->first, target.data());
  }
}

void Tensor::copy_from(std::span<const std::byte> source) {
  check_copy(source.size());
  if (!is_writable()) fail_const();
  if (source.empty()) return;
  if (is_contiguous()) {
    std::memcpy(wrapped_ != nullptr ? wrapped_->first : bytes_.data(), source.data(),
                source.size());
  } else {
    elements::unpack(type_, shape_, wrapped_->strides, source.data(), wrapped_->first);
  }
}

void Tensor::fail_const() const {
  fail(ErrorCode::InvalidArgument, "the {} tensor of shape {} is const memory", to_string(type_),
       shape_);
}

void Tensor::check_type(DataType wanted) const {
  if (type_ != wanted) {
    fail(ErrorCode::InvalidArgument, "a {} tensor is read as {}", to_string(type_),
         to_string(wanted));
  }
}

std::span<const std::byte> Tensor::plain_bytes(size_t alignment) const {
  if (wrapped_ == nullptr) return bytes_;
  if (!wrapped_->contiguous) {
    fail(ErrorCode::InvalidArgument,
         "the {} tensor of shape {} has strides of {} bytes, so its elements are not a span",
         to_string(type_), shape_, wrapped_->strides);
  }
  if (reinterpret_cast<uintptr_t>(wrapped_->first) % alignment != 0 && size_ > 0) {
    fail(ErrorCode::InvalidArgument,
         "the {} tensor of shape {} is at an address that is not a multiple of {}",
         to_string(type_), shape_, alignment);
  }
  return {wrapped_->first, static_cast<size_t>(size_ * byte_size(type_))};
}

std::span<std::byte> Tensor::plain_bytes(size_t alignment) {
  if (wrapped_ == nullptr) return bytes_;
  const std::span<const std::byte> bytes = std::as_const(*this).plain_bytes(alignment);
  if (!wrapped_->writable) fail_const();
  return {wrapped_->first, bytes.size()};
}

std::vector<float> Tensor::to_floats() const {
  if (!is_contiguous()) return copy().to_floats();
  std::vector<float> result(static_cast<size_t>(size_));
  elements::convert(type_, bytes(), DataType::Float32,
                    std::as_writable_bytes(std::span<float>(result)), false);
  return result;
}

std::vector<double> Tensor::to_doubles() const {
  if (!is_contiguous()) return copy().to_doubles();
  std::vector<double> result(static_cast<size_t>(size_));
  elements::convert(type_, bytes(), DataType::Float64,
                    std::as_writable_bytes(std::span<double>(result)), false);
  return result;
}

Tensor Tensor::to(DataType type) const {
  if (type == type_) return *this;
  if (type == DataType::String || type_ == DataType::String) {
    fail(ErrorCode::InvalidArgument, "{} cannot become {}", to_string(type_), to_string(type));
  }
  if (!is_contiguous()) return copy().to(type);
  Tensor result(type, shape_);
  if (const auto index = elements::convert(type_, bytes(), type, result.bytes_, true)) {
    fail(ErrorCode::InvalidArgument, "element {} is {}, which {} cannot hold", *index,
         element_text(*this, *index), to_string(type));
  }
  return result;
}

Tensor Tensor::reshaped(std::vector<int64_t> shape) const {
  if (count_elements(shape) != size_) {
    fail(ErrorCode::InvalidArgument, "shape {} cannot become {}", shape_, shape);
  }
  if (!is_contiguous()) return copy().reshaped(std::move(shape));
  Tensor result = *this;
  if (wrapped_ != nullptr) {  // released with the last of both
    const std::shared_ptr<const Wrapped> whole = wrapped_;
    result = wrap(type_, shape, wrapped_->first, {}, wrapped_->writable, [whole] {});
  }
  result.shape_ = std::move(shape);
  return result;
}

const Tensor& tensor_at(const Values& values, std::string_view name) {
  const auto found = values.find(name);
  if (found == values.end()) fail(ErrorCode::NotFound, "unknown value '{}'", name);
  const auto* tensor = std::get_if<Tensor>(&found->second);
  if (tensor == nullptr) fail(ErrorCode::InvalidArgument, "'{}' is not a tensor", name);
  return *tensor;
}

}  // namespace pippin
