#include <algorithm>
#include <cmath>

#include "pippin/base/error.h"
#include "pippin/engine/cpu/scan_lines.h"
#include "pippin/mx/core/convert.h"
#include "pippin/mx/core/copy.h"
#include "pippin/mx/core/eval.h"
#include "pippin/mx/core/primitive.h"
#include "pippin/mx/loops/functions.h"
#include "pippin/mx/ops/axes.h"
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

// Totals of floats are kept in double, those of integers wrap around.
template <typename Function, typename T>
void scan_with(const engine::ScanArgs& args, const T* x, T* y, T first) {
  constexpr bool kIsSum = std::is_same_v<Function, Sum> || std::is_same_v<Function, Product>;
  using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
  using Total = std::conditional_t<kIsSum, Wide, T>;
  engine::scan_lines(pool(), args, x, y, static_cast<Total>(first),
                     [](Total total, Total value) { return Function()(value, total); });
}

class Scan final : public PrimitiveWith<Scan> {
 public:
  Scan(ScanOp op, int axis, bool reverse, bool inclusive)
      : op_(op), axis_(static_cast<size_t>(axis)), reverse_(reverse), inclusive_(inclusive) {}
  std::string_view name() const noexcept override { return kNames[static_cast<int>(op_)]; }
  void eval(Node& out) const override {
    with_kind(kind_of(out.dtype, kNames[static_cast<int>(op_)].data()),
              [&](auto type) { scan<typename decltype(type)::type>(out); });
  }
  void record(Recorder& recorder, const Node& out) const override {
    if (op_ != ScanOp::Sum) refuse_record(name(), "");
    recorder.define(out, Recorder::one("cumsum", {{"x", recorder.input(out, 0)},
                                                  {"axis", static_cast<int64_t>(axis_)},
                                                  {"exclusive", !inclusive_},
                                                  {"reverse", reverse_}}));
  }
  auto members() const { return std::tie(op_, axis_, reverse_, inclusive_); }

 private:
  template <typename T>
  void scan(Node& out) const {
    const double before = neutral(op_, out.dtype);
    T first;
    convert(reinterpret_cast<const std::byte*>(&before), float64, 1,
            reinterpret_cast<std::byte*>(&first), dtype_of<T>, 1, 1);
    const Ref<Node> x = row_major_as(out.inputs[0], dtype_of<T>);
    if (out.size == 0) return out.allocate();
    const int64_t size = x->shape[axis_];
    int64_t inner = 1;
    for (size_t i = axis_ + 1; i < x->shape.size(); ++i) inner *= x->shape[i];
    const engine::ScanArgs args{out.size / (size * inner), size,        inner,
                                {size * inner, inner, 1},  !inclusive_, reverse_};
    compute_as(out, dtype_of<T>, [&](Node& y) {
      const auto* from = reinterpret_cast<const T*>(x->data);
      auto* to = reinterpret_cast<T*>(y.data);
      switch (op_) {
        case ScanOp::Sum:
          return scan_with<Sum>(args, from, to, first);
        case ScanOp::Prod:
          return scan_with<Product>(args, from, to, first);
        case ScanOp::Max:
          return scan_with<Maximum>(args, from, to, first);
        case ScanOp::Min:
          return scan_with<Minimum>(args, from, to, first);
        default:
          if constexpr (std::is_floating_point_v<T>) scan_with<LogAddExp>(args, from, to, first);
      }
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
  const int at = normal_axis("diff", axis, a.ndim());
  array result = a;
  for (int i = 0; i < n; ++i) {
    const int64_t size = result.shape(at);
    const array behind = slice_axis(result, at, std::min<int64_t>(1, size), size);
    const array ahead = slice_axis(result, at, 0, std::max<int64_t>(0, size - 1));
    result = result.dtype() == bool_ ? not_equal(behind, ahead) : subtract(behind, ahead);
  }
  return result;
}

}  // namespace pippin::mx
