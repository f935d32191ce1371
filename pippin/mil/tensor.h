// A tensor of the reference interpreter: slow and simple.
//
// Elements are doubles whatever the type: every value of bool, int32, fp16 and fp32 is exact in a
// double, so one implementation computes every op, and round_to_type() gives a value that the
// declared type can hold. (64-bit integers beyond 2^53 are not exact; MIL programs compute in at
// most 32 bits.) Never used where speed matters.
//
// The same rules handle lists (make_list, the classes of classify) and dictionaries (classify's
// probabilities) as tensors of another kind: see Tensor::items.
#pragma once

#include <cstdint>
#include <memory>
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

  ValueType::Kind kind = ValueType::Kind::Tensor;
  // List: the elements, null if not written yet; `type` and `shape` are those of the elements
  // (kUnknownDim for sizes known only from the elements), `values` and `strings` are empty.
  // Dictionary: two tensors of rank 1, the keys and their values; `type` and `shape` are those of
  // the values. Lists derived from one another by writes share elements.
  std::vector<std::shared_ptr<const Tensor>> items;
  bool can_grow = true;  // List

  Tensor() = default;
  // Zeros. Throws LimitExceeded if the size overflows.
  Tensor(DataType element_type, std::vector<int64_t> dims);
  static Tensor scalar(DataType type, double value);
  static Tensor list(DataType element_type, std::vector<int64_t> element_dims);  // empty
  // Keys and values of rank 1 and the same size.
  static Tensor dictionary(Tensor keys, Tensor values);

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t size() const { return static_cast<int64_t>(values.size() + strings.size()); }
};

// Throws LimitExceeded if it overflows or a dimension is negative.
int64_t num_elements(const std::vector<int64_t>& shape);

// Throws LimitExceeded if `count` is negative or above the thread's limit.
void check_element_count(int64_t count);

// During its lifetime, creating a tensor with more elements on this thread throws LimitExceeded: a
// program may request any size (`fill`, `tile`).
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
// A float as an integer of `type`: truncated toward zero, clamped to the range, and 0 for NaN, as
// AArch64 converts (FCVTZS, FCVTZU).
double saturate_to_type(double value, DataType type);

// Convert packed little-endian bytes to and from tensors (all types except string).
Tensor tensor_from_bytes(DataType type, std::vector<int64_t> shape, ByteSpan bytes);
std::vector<std::byte> to_bytes(const Tensor& tensor);
Tensor to_tensor(const Value& value);  // from a tensor or a list of tensors
Value to_value(const Tensor& tensor);  // from a tensor or a list without gaps

}  // namespace pippin::mil
