// An array: a handle to numbers, or to recorded operations that compute them.
//
// Operations (mx.h) only record; eval(), item(), data() and everything that needs numbers compute.
// Copying an array copies a pointer. Arrays are values: changing one does not affect others. Any
// thread may use any array; one evaluation runs at a time.
//
// Errors are pippin::Error: InvalidArgument for invalid shapes, types and axes, starting with the
// operation's name; Unsupported for features that Pippin does not have.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "pippin/base/export.h"
#include "pippin/mx/core/dtype.h"
#include "pippin/mx/core/node.h"
#include "pippin/mx/core/shape.h"

namespace pippin::mx {

// The C++ types of numbers that arrays are made from and read as.
template <typename T>
concept Scalar = std::is_arithmetic_v<T> || std::is_same_v<T, pippin::float16> ||
    std::is_same_v<T, pippin::bfloat16> || std::is_same_v<T, complex64_t>;

// The default type of a number: int32, float32 or bool; int64 or uint64 if 32 bits do not suffice.
template <Scalar T>
constexpr Dtype default_dtype() {
  if constexpr (std::is_same_v<T, double>) {
    return float32;
  } else if constexpr (std::is_same_v<T, long long>) {
    return int64;
  } else if constexpr (std::is_same_v<T, unsigned long long>) {
    return uint64;
  } else {
    return dtype_of<T>;
  }
}

// A handle to numbers, or to recorded operations that compute them; copying it copies a pointer.
class PIPPIN_API array {  // NOLINT(readability-identifier-naming): as in MLX
 public:
  // A scalar: one number, without axes.
  template <Scalar T>
  explicit array(T value, Dtype dtype = default_dtype<T>())
      : array(&value, default_source<T>(), Shape(), dtype) {}
  // A vector: one axis with these numbers.
  template <Scalar T>
  array(std::initializer_list<T> values, Dtype dtype = default_dtype<T>())
      : array(values.begin(), default_source<T>(), Shape{static_cast<int64_t>(values.size())},
              dtype) {}
  // Row-major numbers in this shape. Throws InvalidArgument if their number is not that of the
  // shape.
  template <Scalar T>
  array(std::initializer_list<T> values, Shape shape, Dtype dtype = default_dtype<T>())
      : array(checked(values.size(), values.begin(), shape), default_source<T>(), shape, dtype) {}
  // Copies row-major numbers. Throws InvalidArgument if their number is not that of the shape.
  template <Scalar T>
  array(std::span<const T> values, Shape shape, Dtype dtype = default_dtype<T>())
      : array(checked(values.size(), values.data(), shape), default_source<T>(), shape, dtype) {}
  template <Scalar T>
  array(const std::vector<T>& values, Shape shape, Dtype dtype = default_dtype<T>())
      : array(std::span<const T>(values), std::move(shape), dtype) {}

  // Copies row-major numbers of type `from` and converts them as astype(). Throws InvalidArgument
  // for a negative size, LimitExceeded if there is no memory.
  array(const void* values, Dtype from, Shape shape, Dtype dtype);
  // Wraps external memory without copying; element [i, j, ...] is i * strides[0] + j * strides[1] +
  // ... elements after `data`. Calls `release` when no array reads it any more. Arrays that are not
  // writable are never overwritten in place.
  static array borrow(void* data, Dtype dtype, Shape shape, Strides strides,
                      std::function<void()> release, bool is_writable);

  // The array of a node, for code that records operations.
  explicit array(Ref<Node> node) : node_(std::move(node)) {}

  // The element type, known without computing.
  Dtype dtype() const { return node_->dtype; }
  // The sizes of the axes, known without computing.
  const Shape& shape() const { return node_->shape; }
  // The size of one axis; a negative axis counts from the end. Throws InvalidArgument if it does
  // not exist.
  int64_t shape(int axis) const;
  // The number of axes.
  size_t ndim() const { return node_->shape.size(); }
  // The number of elements.
  int64_t size() const { return node_->size; }
  // The bytes of one element.
  size_t itemsize() const { return size_of(node_->dtype); }
  // The bytes of all elements.
  size_t nbytes() const { return static_cast<size_t>(node_->bytes()); }

  // Whether the numbers are computed.
  bool is_available() const { return node_->is_available.load(std::memory_order_acquire); }
  // Computes the array unless it is available. Throws the errors of the operations; results
  // computed before stay available.
  void eval() const;

  // The distances between neighbours along each axis, in elements; 0 for a repeated axis. This
  // function and the following ones evaluate.
  const Strides& strides() const;
  // The first element, [0, 0, ...].
  const std::byte* bytes() const;
  // Whether the elements are in row-major order without gaps.
  bool is_row_major() const;
  // The first element, as T. Throws InvalidArgument if T is not the element type.
  template <typename T>
  const T* data() const {
    check_type(dtype_of<T>);
    return reinterpret_cast<const T*>(bytes());
  }
  // Returns the only number, converted as astype(). Throws InvalidArgument if there are several or
  // none.
  template <Scalar T>
  T item() const {
    T value;
    read_item(&value, default_source<T>());
    return value;
  }
  // Returns all numbers in row-major order, converted as astype().
  template <Scalar T>
  std::vector<T> to_vector() const {
    std::vector<T> values(static_cast<size_t>(size()));
    read(values.data(), default_source<T>());
    return values;
  }
  // Copies all numbers in row-major order to memory of size() elements of `type`, converted as
  // astype().
  void read(void* to, Dtype type) const;

  // The node behind the array.
  const Ref<Node>& node() const { return node_; }
  // Whether both are the same object, not only equal.
  bool is_same(const array& other) const { return node_ == other.node_; }
  // Makes this refer to `other`'s value: the way x[...] = y changes a variable.
  void overwrite(const array& other) { node_ = other.node_; }

 private:
  template <Scalar T>
  static constexpr Dtype default_source() {
    if constexpr (std::is_same_v<T, double>) {
      return float64;
    } else {
      return default_dtype<T>();
    }
  }
  static const void* checked(size_t count, const void* values, const Shape& shape);
  void check_type(Dtype wanted) const;
  void read_item(void* to, Dtype type) const;

  Ref<Node> node_;
};

// Computes several arrays together, sharing operations. Throws the errors of the operations;
// results computed before stay available.
PIPPIN_API void eval(std::span<const array> arrays);
inline void eval(std::initializer_list<array> arrays) {
  eval(std::span<const array>(arrays.begin(), arrays.size()));
}
template <typename... Arrays>
requires(std::is_same_v<Arrays, array>&&...) void eval(const array& first, const Arrays&... rest) {
  eval({first, rest...});
}
// Starts to compute the arrays on a background thread and returns. Functions that need the numbers
// wait for them and throw the errors.
PIPPIN_API void async_eval(std::span<const array> arrays);
// Waits for all work started by async_eval(). Throws nothing: errors appear where the numbers are
// needed.
PIPPIN_API void synchronize();

}  // namespace pippin::mx
