#include <algorithm>
#include <cmath>
#include <memory>

#include "pippin/base/error.h"
#include "pippin/base/unwritten.h"
#include "pippin/mx/core/primitive.h"
#include "pippin/mx/core/rows.h"
#include "pippin/mx/loops/binary_loops.h"
#include "pippin/mx/ops/binary.h"
#include "pippin/mx/ops/complex.h"
#include "pippin/mx/ops/scan_sort.h"
#include "pippin/mx/ops/shape_ops.h"
#include "pippin/mx/ops/unary.h"
#include "pippin/mx/record/recorder.h"

namespace pippin::mx {
namespace {

enum class ScanOp : uint8_t { Sum, Prod, Max, Min, LogSumExp };
constexpr std::string_view kNames[] = {"cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"};

// The value before the first element, as a double; every type has its own.
double neutral(ScanOp op, Dtype dtype) {
  switch (op) {
    case ScanOp::Prod:
      return 1;
    case ScanOp::Sum:
      return 0;
    case ScanOp::Min:
      return is_floating(dtype) ? HUGE_VAL
             : dtype == bool_   ? 1
                                : static_cast<double>(iinfo(dtype).max);
    default:
      return is_floating(dtype) ? -HUGE_VAL
             : dtype == bool_   ? 0
                                : static_cast<double>(iinfo(dtype).min);
  }
}

BinaryOp step_of(ScanOp op) {
  switch (op) {
    case ScanOp::Sum:
      return BinaryOp::Add;
    case ScanOp::Prod:
      return BinaryOp::Multiply;
    case ScanOp::Max:
      return BinaryOp::Maximum;
    case ScanOp::Min:
      return BinaryOp::Minimum;
    default:
      return BinaryOp::LogAddExp;
  }
}

// Combines a total with the next value.
template <ScanOp kOp, typename T>
T next_total(T total, T value) {
  constexpr bool kIsInteger = std::is_integral_v<T>;
  if constexpr (kOp == ScanOp::Max) return value > total || value != value ? value : total;
  if constexpr (kOp == ScanOp::Min) return value < total || value != value ? value : total;
  if constexpr (kOp == ScanOp::Sum && kIsInteger) {
    return static_cast<T>(static_cast<uint64_t>(total) + static_cast<uint64_t>(value));
  }
  if constexpr (kOp == ScanOp::Prod && kIsInteger) {
    return static_cast<T>(static_cast<uint64_t>(total) * static_cast<uint64_t>(value));
  }
  if constexpr (kOp == ScanOp::Sum) return total + value;
  if constexpr (kOp == ScanOp::Prod) return total * value;
  if constexpr (kOp == ScanOp::LogSumExp && !kIsInteger) {
    T result;
    binary_function(step_of(kOp), sizeof(T) == 4 ? Kind::F32 : Kind::F64)(&total, 1, &value, 1,
                                                                          &result, 1);
    return result;
  }
  return total;
}

template <ScanOp kOp, typename T>
void scan_row(T* values, int64_t count, bool reverse, bool inclusive, T first) {
  T total = first;
  for (int64_t i = 0; i < count; ++i) {
    T& value = values[reverse ? count - 1 - i : i];
    const T after = next_total<kOp>(total, value);
    value = inclusive ? after : total;
    total = after;
  }
}

template <typename T>
using ScanRow = void (*)(T* values, int64_t count, bool reverse, bool inclusive, T first);
template <typename T>
ScanRow<T> scan_function(ScanOp op) {
  switch (op) {
    case ScanOp::Sum:
      return scan_row<ScanOp::Sum, T>;
    case ScanOp::Prod:
      return scan_row<ScanOp::Prod, T>;
    case ScanOp::Max:
      return scan_row<ScanOp::Max, T>;
    case ScanOp::Min:
      return scan_row<ScanOp::Min, T>;
    default:
      return scan_row<ScanOp::LogSumExp, T>;
  }
}

class Scan final : public Primitive {
 public:
  Scan(ScanOp op, int axis, bool reverse, bool inclusive)
      : op_(op), axis_(static_cast<size_t>(axis)), reverse_(reverse), inclusive_(inclusive) {}
  std::string_view name() const noexcept override { return kNames[static_cast<int>(op_)]; }
  void eval(Node& out) const override {
    const Node& x = *out.inputs[0];
    const Kind kind = kind_of(out.dtype, kNames[static_cast<int>(op_)].data());
    out.allocate();
    with_kind(kind, [&](auto type) { scan<typename decltype(type)::type>(x, out, kind); });
  }
  void record(Recorder& recorder, const Node& out) const override {
    if (op_ != ScanOp::Sum) refuse_record(name(), "");
    recorder.define(out, Recorder::one("cumsum", {{"x", recorder.input(out, 0)},
                                                  {"axis", static_cast<int64_t>(axis_)},
                                                  {"exclusive", !inclusive_},
                                                  {"reverse", reverse_}}));
  }
  bool same_as(const Primitive& other) const override {
    return equal_members(*this, other, [](const auto& p) {
      return std::tie(p.op_, p.axis_, p.reverse_, p.inclusive_);
    });
  }

 private:
  template <typename T>
  void scan(const Node& x, Node& out, Kind kind) const {
    const int64_t count = x.shape[axis_];
    const auto from_item = static_cast<int64_t>(size_of(x.dtype));
    const auto to_item = static_cast<int64_t>(size_of(out.dtype));
    const LoadFunction load = loader(x.dtype, kind);
    const StoreFunction store = storer(kind, out.dtype);
    const ScanRow<T> run = scan_function<T>(op_);
    const double before = neutral(op_, out.dtype);
    T first;
    convert(reinterpret_cast<const std::byte*>(&before), float64, 1,
            reinterpret_cast<std::byte*>(&first), dtype_of<T>, 1, 1);
    each_row(x, out, axis_, count * 4, [&](int64_t from, int64_t to) {
      const auto values = make_unwritten<T>(static_cast<size_t>(count));
      load(x.data + from * from_item, x.strides[axis_], values.get(), count);
      run(values.get(), count, reverse_, inclusive_, first);
      store(values.get(), out.data + to * to_item, out.strides[axis_], count);
    });
  }

  ScanOp op_;
  size_t axis_;
  bool reverse_, inclusive_;
};

array scan(ScanOp op, const array& a, std::optional<int> axis, bool reverse, bool inclusive,
           Dtype dtype) {
  const std::string_view name = kNames[static_cast<int>(op)];
  if (a.dtype() == complex64 || dtype == complex64) {
    fail(ErrorCode::Unsupported, "[{}] complex64 is not supported.", name);
  }
  const array x = astype(axis ? a : flatten(a), dtype);
  const int at = normal_axis(name, axis ? *axis : 0, x.ndim());
  return make(new_primitive<Scan>(op, at, reverse, inclusive), dtype, x.shape(), {&x});
}

}  // namespace

array cumsum(const array& a, std::optional<int> axis, bool reverse, bool inclusive,
             std::optional<Dtype> dtype) {
  if (a.dtype() == complex64 && !dtype) {
    const array sums = cumsum(real(a), axis, reverse, inclusive);
    return make_complex(sums, cumsum(imag(a), axis, reverse, inclusive));
  }
  return scan(ScanOp::Sum, a, axis, reverse, inclusive,
              dtype                ? *dtype
              : a.dtype() == bool_ ? int32
                                   : a.dtype());
}
array cumprod(const array& a, std::optional<int> axis, bool reverse, bool inclusive,
              std::optional<Dtype> dtype) {
  return scan(ScanOp::Prod, a, axis, reverse, inclusive, dtype ? *dtype : a.dtype());
}
array cummax(const array& a, std::optional<int> axis, bool reverse, bool inclusive) {
  return scan(ScanOp::Max, a, axis, reverse, inclusive, a.dtype());
}
array cummin(const array& a, std::optional<int> axis, bool reverse, bool inclusive) {
  return scan(ScanOp::Min, a, axis, reverse, inclusive, a.dtype());
}
array logcumsumexp(const array& a, std::optional<int> axis, bool reverse, bool inclusive) {
  return scan(ScanOp::LogSumExp, a, axis, reverse, inclusive, at_least_float(a.dtype()));
}

array diff(const array& a, int n, int axis) {
  if (n < 0) fail(ErrorCode::InvalidArgument, "[diff] Cannot take {} differences.", n);
  const auto at = static_cast<size_t>(normal_axis("diff", axis, a.ndim()));
  array result = a;
  for (int i = 0; i < n; ++i) {
    const int64_t size = result.shape()[at];
    Shape start(a.ndim(), 0);
    Shape stop = result.shape();
    start[at] = std::min<int64_t>(1, size);
    const array behind = slice(result, start, stop);
    start[at] = 0;
    stop[at] = std::max<int64_t>(0, size - 1);
    const array ahead = slice(result, start, stop);
    result = result.dtype() == bool_ ? not_equal(behind, ahead) : subtract(behind, ahead);
  }
  return result;
}

}  // namespace pippin::mx
