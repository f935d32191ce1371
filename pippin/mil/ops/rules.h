// Helpers shared by the rules of the op families: axes, broadcasting, iteration over elements, and
// short forms for table entries.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <new>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "pippin/mil/limits.h"
#include "pippin/mil/ops/op.h"

namespace pippin::mil {

using Dims = std::vector<int64_t>;
using Infos = std::vector<ValueInfo>;
using Tensors = std::vector<Tensor>;

// Parameters of table entries.
inline Parameter tensor(std::string_view name, std::string_view types = "fib") {
  return {name, Parameter::Kind::Tensor, false, {}, types};
}
inline Parameter optional_tensor(std::string_view name, std::string_view types = "fib",
                                 DefaultValue value = {}) {
  return {name, Parameter::Kind::Tensor, true, value, types};
}
inline Parameter constant(std::string_view name, std::string_view types = "fib") {
  return {name, Parameter::Kind::Constant, false, {}, types};
}
inline Parameter optional_constant(std::string_view name, std::string_view types,
                                   DefaultValue value = {}) {
  return {name, Parameter::Kind::Constant, true, value, types};
}
inline Parameter tuple(std::string_view name, std::string_view types = "fib") {
  return {name, Parameter::Kind::Tuple, false, {}, types};
}
inline Parameter state_parameter(std::string_view name) {
  return {name, Parameter::Kind::State, false, {}, "fib"};
}

// Adds shared traits to all entries of a family.
std::vector<OpDef> with_traits(std::initializer_list<Trait> traits, std::vector<OpDef> ops);

inline ValueInfo tensor_info(DataType type, Shape shape) {
  ValueInfo info;
  info.type = type;
  info.shape = std::move(shape);
  return info;
}

// Larger than any shape arithmetic; weights stay unread.
inline constexpr int64_t kMaxElements = 1024;

// Whether `elements` may be filled in: an integer or bool tensor.
bool may_have_elements(const ValueInfo& info);

// The known facts about a constant; reads the elements of small integer and bool tensors.
ValueInfo value_info(const Value& value);

// Runs a rule of the context's operation; errors about limits and about insufficient memory then
// name the operation.
template <typename Rule>
auto naming_limits(const OpContext& context, Rule&& rule) {
  try {
    return std::forward<Rule>(rule)();
  } catch (const Error& error) {
    const std::string_view message = error.what();
    if (error.code() != ErrorCode::LimitExceeded || message.starts_with(context.where())) throw;
    fail(ErrorCode::LimitExceeded, "{}: {}", context.where(), message);
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::LimitExceeded, "{}: out of memory", context.where());
  } catch (const std::length_error&) {
    fail(ErrorCode::LimitExceeded, "{}: more elements than a vector holds", context.where());
  }
}

// Throws Unsupported, with the operation and its opset, for options of the op that Pippin does not
// implement.
template <typename... Args>
[[noreturn]] void refuse(const OpContext& context, fmt::format_string<Args...> format,
                         Args&&... args) {
  fail(ErrorCode::Unsupported, "{}: {} is not supported in opset {}", context.where(),
       fmt::format(fmt::runtime(fmt::string_view(format)), args...), to_string(context.opset()));
}

// The rule of most ops: one output like x.
Infos infer_like_x(InferContext& context);

// 0 <= axis < rank; negative axes count from the end. Rejects others.
int64_t normalize_axis(const OpContext& context, int64_t axis, int64_t rank);
// Sorts the axes; rejects repetitions.
Dims normalize_axes(const OpContext& context, const Dims& axes, int64_t rank);
// The parameter's axes, all of them if it is absent.
Dims axes_or_all(const OpContext& context, std::string_view parameter, int64_t rank);

// numpy's rule. Requires two sizes to be equal if they may be.
Shape broadcast(InferContext& context, const Shape& a, const Shape& b);
Dims broadcast(const OpContext& context, const Dims& a, const Dims& b);
Tensor broadcast_to(const OpContext& context, const Tensor& x, const Dims& shape);

// Row-major.
Dims strides_of(const Dims& shape);

// Calls visit(index) for every index of the shape, in row-major order.
template <typename Visit>
void for_each_index(const Dims& shape, Visit&& visit) {
  if (num_elements(shape) == 0) return;
  Dims index(shape.size(), 0);
  for (;;) {
    visit(std::as_const(index));
    size_t axis = shape.size();
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

inline int64_t offset_of(const Dims& index, const Dims& strides) {
  int64_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i) offset += index[i] * strides[i];
  return offset;
}

// A shape as outer x size x inner around one axis: element (o, i, n) is at (o * size + i) * inner +
// n.
struct AxisView {
  int64_t outer = 1, size = 1, inner = 1;
  AxisView(const Dims& shape, int64_t axis);
  size_t at(int64_t o, int64_t i, int64_t n) const {
    return static_cast<size_t>((o * size + i) * inner + n);
  }
};

// Copies x's elements into another shape of the same size.
Tensor reshaped(Tensor x, Dims shape);
// out[index] = x[permuted index].
Tensor transposed(const Tensor& x, const Dims& perm);

inline Tensors one(Tensor tensor) {
  Tensors result;
  result.push_back(std::move(tensor));
  return result;
}
inline Infos one(ValueInfo info) {
  Infos result;
  result.push_back(std::move(info));
  return result;
}

// The shape that a vector parameter specifies; data-dependent if it is not known.
Shape shape_from(InferContext& context, std::string_view parameter);

// Rejects if the name is not a type.
DataType data_type_param(const OpContext& context, std::string_view parameter);

}  // namespace pippin::mil
