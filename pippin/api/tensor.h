// What goes into a model and comes out of it: tensors, pictures, dictionaries, by name.
//
// Part of the public interface: standard types only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "pippin/base/exception.h"
#include "pippin/base/export.h"

namespace pippin {

enum class DataType : uint8_t {
  Bool,
  Int8,
  UInt8,
  Int16,
  UInt16,
  Int32,
  UInt32,
  Int64,
  UInt64,
  Float16,
  Float32,
  Float64,
  String,
};

// "float32", "int64", "bool", "string", ...
PIPPIN_API std::string_view to_string(DataType type);
// Bytes of an element; 0 for strings.
PIPPIN_API int64_t byte_size(DataType type);

template <typename T>
constexpr DataType data_type_of() {
  if constexpr (std::is_same_v<T, int8_t>) {
    return DataType::Int8;
  } else if constexpr (std::is_same_v<T, uint8_t>) {
    return DataType::UInt8;
  } else if constexpr (std::is_same_v<T, int16_t>) {
    return DataType::Int16;
  } else if constexpr (std::is_same_v<T, uint16_t>) {
    return DataType::UInt16;
  } else if constexpr (std::is_same_v<T, int32_t>) {
    return DataType::Int32;
  } else if constexpr (std::is_same_v<T, uint32_t>) {
    return DataType::UInt32;
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return DataType::Int64;
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return DataType::UInt64;
  } else if constexpr (std::is_same_v<T, float>) {
    return DataType::Float32;
  } else {
    static_assert(std::is_same_v<T, double>, "no element type of tensors");
    return DataType::Float64;
  }
}

// Elements. A tensor's own lie in row-major order without gaps, and a copy of it has its own again;
// those of wrap() are somebody else's, wherever they lie, and all copies see the same. A bool is a
// byte, 0 or 1; a float16 its two bytes: make one with from(floats).to(DataType::Float16), read one
// with to_floats().
class PIPPIN_API Tensor {
 public:
  Tensor() = default;  // float32, shape [0]
  // Zeros, or empty strings. Throws InvalidArgument for negative sizes, LimitExceeded where the
  // size overflows.
  Tensor(DataType type, std::vector<int64_t> shape);

  // Throws InvalidArgument where the shape does not have as many elements.
  template <typename T>
  static Tensor from(std::span<const T> values, std::vector<int64_t> shape) {
    return from_bytes(data_type_of<T>(), std::as_bytes(values), std::move(shape));
  }
  template <typename T>
  static Tensor from(const std::vector<T>& values, std::vector<int64_t> shape) {
    return from(std::span<const T>(values), std::move(shape));
  }
  static Tensor from_bytes(DataType type, std::span<const std::byte> bytes,
                           std::vector<int64_t> shape);
  static Tensor from_strings(std::vector<std::string> strings, std::vector<int64_t> shape);

  // Memory of the caller, which nothing copies until something needs it otherwise than it is.
  // `data` is the first element; `strides` are the bytes from an element to the next one along each
  // axis, 0 and negative ones too; none: row-major without gaps. The memory has to stay until
  // `release` is called, once, when the last copy of the tensor goes, by the thread that has it; it
  // must not throw. Any alignment will do. What is made of const memory cannot be written to.
  //
  // Throws InvalidArgument for strings, null where there are elements, and strides that are not one
  // per axis; LimitExceeded where an address overflows. `release` is not called then.
  static Tensor wrap(DataType type, std::vector<int64_t> shape, void* data,
                     std::vector<int64_t> strides = {}, std::function<void()> release = {});
  static Tensor wrap(DataType type, std::vector<int64_t> shape, const void* data,
                     std::vector<int64_t> strides = {}, std::function<void()> release = {});

  DataType type() const { return type_; }
  const std::vector<int64_t>& shape() const { return shape_; }  // empty: a scalar
  int64_t size() const { return size_; }                        // elements

  bool is_wrapped() const { return wrapped_ != nullptr; }
  bool is_contiguous() const;            // row-major without gaps
  bool is_writable() const;              // not made of const memory
  std::vector<int64_t> strides() const;  // in bytes; those of strings are 0
  const std::byte* first_byte() const;   // of the element [0, 0, ...]; of strings null
  // The same elements in memory of its own.
  Tensor copy() const;
  // All elements, row-major without gaps, into other memory and from there. Throw InvalidArgument
  // for another number of bytes, for strings, and where the tensor cannot be written to.
  void copy_to(std::span<std::byte> target) const;
  void copy_from(std::span<const std::byte> source);

  // The elements as what they are. Throw InvalidArgument where they are of another type, or of
  // wrapped memory that is not contiguous, not aligned for T, or const and asked for to write:
  // copy() has none of that.
  template <typename T>
  std::span<const T> data() const {
    check_type(data_type_of<T>());
    return {reinterpret_cast<const T*>(plain_bytes(alignof(T)).data()), static_cast<size_t>(size_)};
  }
  template <typename T>
  std::span<T> data() {
    check_type(data_type_of<T>());
    return {reinterpret_cast<T*>(plain_bytes(alignof(T)).data()), static_cast<size_t>(size_)};
  }
  // As data(), of any type and alignment; none of strings.
  std::span<const std::byte> bytes() const { return plain_bytes(1); }
  std::span<std::byte> bytes() { return plain_bytes(1); }
  const std::vector<std::string>& strings() const { return strings_; }

  // Every element converted, rounding where it must. Throw InvalidArgument for strings.
  std::vector<float> to_floats() const;
  std::vector<double> to_doubles() const;
  // The same values in another type. Floats are rounded to narrower floats; every other value has
  // to be exact in the new type, or InvalidArgument is thrown: integers in its range, floats that
  // become integers whole, integers that become floats within their precision, floats finite that
  // were finite.
  Tensor to(DataType type) const;
  // The same elements; throws InvalidArgument where the shape has another number of them.
  Tensor reshaped(std::vector<int64_t> shape) const;

 private:
  struct Wrapped;

  static Tensor wrap(DataType type, std::vector<int64_t> shape, std::byte* data,
                     std::vector<int64_t> strides, bool writable, std::function<void()> release);
  void check_type(DataType wanted) const;
  void check_copy(size_t bytes) const;
  [[noreturn]] void fail_const() const;
  std::span<const std::byte> plain_bytes(size_t alignment) const;
  std::span<std::byte> plain_bytes(size_t alignment);

  DataType type_ = DataType::Float32;
  std::vector<int64_t> shape_ = {0};
  int64_t size_ = 0;
  std::vector<std::byte> bytes_;
  std::vector<std::string> strings_;
  std::shared_ptr<const Wrapped> wrapped_;  // instead of bytes_
};

// Rows from the top, the channels of a pixel side by side.
struct Image {
  int64_t width = 0, height = 0;
  int channels = 3;                 // 1: gray; 3: red, green, blue
  DataType type = DataType::UInt8;  // or Float16, of one channel
  std::vector<std::byte> pixels;
};

// What a classifier says of its classes: strings or int64 in `keys`, float64 in `values`, [n] each.
struct Dictionary {
  Tensor keys;
  Tensor values;
};

using Value = std::variant<Tensor, Image, Dictionary>;
using Values = std::map<std::string, Value, std::less<>>;

// The tensor of that name. Throws NotFound where there is none, InvalidArgument where it is
// something else.
PIPPIN_API const Tensor& tensor_at(const Values& values, std::string_view name);

}  // namespace pippin
