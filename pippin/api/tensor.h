// The inputs and outputs of models: tensors, images and dictionaries, by name.
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

// The element types of tensors.
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

// Returns "float32", "int64", "bool", "string", ...
PIPPIN_API std::string_view to_string(DataType type);
// Returns the bytes of an element; 0 for strings.
PIPPIN_API int64_t byte_size(DataType type);

// Returns the element type of a C++ type; others do not compile.
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

// A tensor owns its elements, row-major without gaps, and copying it copies them; one made by
// wrap() refers to the caller's memory, which its copies share. A bool is one byte, 0 or 1. A
// float16 is stored as its two bytes: from(floats).to(DataType::Float16) makes one, to_floats()
// reads one.
class PIPPIN_API Tensor {
 public:
  Tensor() = default;  // float32, shape [0]
  // Filled with zeros or empty strings. Throws InvalidArgument for negative sizes, LimitExceeded if
  // the size overflows.
  Tensor(DataType type, std::vector<int64_t> shape);

  // Copies row-major values. Throws InvalidArgument if the shape has another number of elements.
  template <typename T>
  static Tensor from(std::span<const T> values, std::vector<int64_t> shape) {
    return from_bytes(data_type_of<T>(), std::as_bytes(values), std::move(shape));
  }
  template <typename T>
  static Tensor from(const std::vector<T>& values, std::vector<int64_t> shape) {
    return from(std::span<const T>(values), std::move(shape));
  }
  // Copies row-major elements of a type as bytes. Throws InvalidArgument if the shape has another
  // number of bytes, and for strings.
  static Tensor from_bytes(DataType type, std::span<const std::byte> bytes,
                           std::vector<int64_t> shape);
  // Makes a tensor of strings. Throws InvalidArgument if the shape has another number of elements.
  static Tensor from_strings(std::vector<std::string> strings, std::vector<int64_t> shape);

  // Refers to the caller's memory, which is copied only if another layout or type is needed. `data`
  // points to the first element; `strides` are the bytes from one element to the next along each
  // axis and may be 0 or negative; without strides: row-major without gaps. The memory must stay
  // valid until `release` is called: once, by the thread that destroys the last copy of the tensor;
  // it must not throw. Any alignment is allowed. A tensor of const memory cannot be written to.
  //
  // Throws InvalidArgument for strings, for null if there are elements, and for another number of
  // strides than axes; LimitExceeded if an address overflows; `release` is then not called.
  static Tensor wrap(DataType type, std::vector<int64_t> shape, void* data,
                     std::vector<int64_t> strides = {}, std::function<void()> release = {});
  static Tensor wrap(DataType type, std::vector<int64_t> shape, const void* data,
                     std::vector<int64_t> strides = {}, std::function<void()> release = {});

  // The element type.
  DataType type() const { return type_; }
  // The sizes of the axes; empty: a scalar.
  const std::vector<int64_t>& shape() const { return shape_; }
  // The number of elements.
  int64_t size() const { return size_; }

  // Whether the elements are in memory of wrap() or shared().
  bool is_wrapped() const { return wrapped_ != nullptr; }
  // Whether the elements are row-major without gaps.
  bool is_contiguous() const;
  // Whether the elements may be written; false for const memory.
  bool is_writable() const;
  // The bytes from one element to the next along each axis; 0 for strings.
  std::vector<int64_t> strides() const;
  // The first byte of the element [0, 0, ...]; null for strings.
  const std::byte* first_byte() const;
  // Returns a tensor that owns a copy of the elements.
  Tensor copy() const;
  // Moves the elements of `tensor` into memory that copies of the result share. Wrapped memory and
  // strings stay unchanged.
  static Tensor shared(Tensor tensor);
  // Copies all elements, in row-major order without gaps, to other memory. Throws InvalidArgument
  // for another number of bytes and for strings.
  void copy_to(std::span<std::byte> target) const;
  // Copies all elements, in row-major order without gaps, from other memory. Throws InvalidArgument
  // for another number of bytes, for strings, and for const memory.
  void copy_from(std::span<const std::byte> source);

  // The elements. Throw InvalidArgument if they have another type, or are wrapped memory that is
  // not contiguous, not aligned for T, or const when write access is requested: data() of a copy()
  // works.
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
  // Like data(), for any type and alignment; empty for strings.
  std::span<const std::byte> bytes() const { return plain_bytes(1); }
  std::span<std::byte> bytes() { return plain_bytes(1); }
  // The elements of a tensor of strings, in row-major order; empty for other types.
  const std::vector<std::string>& strings() const { return strings_; }

  // Converts every element to float, rounding if necessary. Throws InvalidArgument for strings.
  std::vector<float> to_floats() const;
  // Converts every element to double, rounding if necessary. Throws InvalidArgument for strings.
  std::vector<double> to_doubles() const;
  // Returns the same values in another type. Floats are rounded to narrower floats. Throws
  // InvalidArgument for any other conversion that is not exact: integers must be in range, floats
  // that become integers must be whole, integers must fit the precision of floats, and finite
  // floats must stay finite.
  Tensor to(DataType type) const;
  // Returns the same elements in another shape. Throws InvalidArgument for another number of
  // elements.
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

// Pixels [height, width, channels], from the top.
struct Image {
  int64_t width = 0, height = 0;    // in pixels
  int channels = 3;                 // 1: gray; 3: red, green, blue
  DataType type = DataType::UInt8;  // UInt8, or Float16 of one channel
  std::vector<std::byte> pixels;    // row by row; the bytes of width * height * channels values
};

// From strings or whole numbers to numbers, as the probabilities of classes: `keys`, strings or
// int64 [n]; `values`, float64 [n]. Inputs may have other types of numbers.
struct Dictionary {
  Tensor keys;    // the classes: strings or int64, [n]
  Tensor values;  // their probabilities: float64, [n]
};

// An input or output of a prediction.
using Value = std::variant<Tensor, Image, Dictionary>;
// Values by the names that the model declares.
using Values = std::map<std::string, Value, std::less<>>;

// Returns the tensor of that name. Throws NotFound if there is none, InvalidArgument if it is not a
// tensor.
PIPPIN_API const Tensor& tensor_at(const Values& values, std::string_view name);

}  // namespace pippin
