// A tensor of the reference: slow and obvious.
//
// Elements are doubles whatever the type: every value of bool, int32, fp16, fp32 is exact in a
// double, so one piece of code computes every op, and round_to_type() gives what the declared type
// can hold. (64-bit integers beyond 2^53 are not exact; MIL programs compute in at most 32 bits.)
// Never used where speed matters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/mil/type.h"
#include "pippin/mil/value.h"

namespace pippin::mil {

struct Tensor {
  DataType type = DataType::Float32;
  std::vector<int64_t> shape;        // row-major, rank 0 is a scalar
  std::vector<double> values;        // numbers and bools (0 or 1)
  std::vector<std::string> strings;  // DataType::String

  Tensor() = default;
  // Zeros. Throws LimitExceeded where the size overflows.
  Tensor(DataType element_type, std::vector<int64_t> dims);
  static Tensor scalar(DataType type, double value);

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t size() const { return static_cast<int64_t>(values.size() + strings.size()); }
};

// Throws LimitExceeded where it overflows or a dimension is negative.
int64_t num_elements(const std::vector<int64_t>& shape);

// While it lives, tensors of more elements made by this thread throw LimitExceeded: a program may
// ask for any size (`fill`, `tile`).
class ElementLimit {
 public:
  explicit ElementLimit(int64_t max_elements);
  ElementLimit(const ElementLimit&) = delete;
  ElementLimit& operator=(const ElementLimit&) = delete;
  ~ElementLimit();

 private:
  int64_t previous_;
};

// The nearest value that `type` holds: floats round to nearest even (overflow to infinity),
// integers truncate toward zero and wrap to their width, bool is != 0.
double round_to_type(double value, DataType type);
void round_to_type(Tensor& tensor);  // to its own type

// Packed little-endian bytes to and from tensors (all types but string).
Tensor tensor_from_bytes(DataType type, std::vector<int64_t> shape, ByteSpan bytes);
std::vector<std::byte> to_bytes(const Tensor& tensor);
Tensor to_tensor(const Value& value);  // of a tensor-typed Value
Value to_value(const Tensor& tensor);

}  // namespace pippin::mil
