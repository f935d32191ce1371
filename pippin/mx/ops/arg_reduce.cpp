#include "pippin/base/error.h"
#include "pippin/mx/core/convert.h"
#include "pippin/mx/core/primitive.h"
#include "pippin/mx/core/rows.h"
#include "pippin/mx/ops/reduce.h"
#include "pippin/mx/ops/shape_ops.h"
#include "pippin/mx/record/recorder.h"

namespace pippin::mx {
namespace {

// Whether b replaces a, the best so far. NaN is better than all numbers.
template <typename T>
bool is_better(T a, T b, bool largest) {
  if (b != b) return a == a;
  return largest ? b > a : b < a;
}

class ArgReduce final : public PrimitiveWith<ArgReduce> {
 public:
  ArgReduce(int axis, bool largest) : axis_(static_cast<size_t>(axis)), largest_(largest) {}
  std::string_view name() const noexcept override { return largest_ ? "argmax" : "argmin"; }
  void eval(Node& out) const override {
    const Node& x = *out.inputs[0];
    const Kind kind = kind_of(x.dtype, largest_ ? "argmax" : "argmin");
    out.allocate();
    with_kind(kind, [&](auto type) { find<typename decltype(type)::type>(x, out, kind); });
  }
  void record(Recorder& recorder, const Node& out) const override {
    recorder.define(out, Recorder::one(largest_ ? "reduce_argmax" : "reduce_argmin",
                                       {{"x", recorder.input(out, 0)},
                                        {"axis", static_cast<int64_t>(axis_)},
                                        {"keep_dims", true}}));
  }
  auto members() const { return std::tie(axis_, largest_); }

 private:
  template <typename T>
  void find(const Node& x, Node& out, Kind kind) const {
    const int64_t count = x.shape[axis_], step = x.strides[axis_];
    const auto item = static_cast<int64_t>(size_of(x.dtype));
    const LoadFunction load = loader(x.dtype, kind);
    const bool is_direct = step == 1 && is_native(x.dtype, kind);
    auto* to = reinterpret_cast<uint32_t*>(out.data);
    each_row(x, out, axis_, count, [&](int64_t from, int64_t place) {
      T piece[kPiece];
      T best{};
      int64_t index = 0;
      for (int64_t i = 0; i < count; i += kPiece) {
        const int64_t n = std::min(kPiece, count - i);
        const std::byte* source = x.data + (from + i * step) * item;
        if (!is_direct) load(source, step, piece, n);
        const T* values = is_direct ? reinterpret_cast<const T*>(source) : piece;
        for (int64_t j = 0; j < n; ++j) {
          if (i + j == 0 || is_better(best, values[j], largest_)) {
            best = values[j];
            index = i + j;
          }
        }
      }
      to[place] = static_cast<uint32_t>(index);
    });
  }

  size_t axis_;
  bool largest_;
};

array arg_reduce(const char* op, const array& a, std::optional<int> axis, bool keepdims,
                 bool largest) {
  if (a.size() == 0) {
    fail(ErrorCode::InvalidArgument, "[{}] An array of shape {} has no elements.", op,
         to_string(a.shape()));
  }
  const array x = axis && a.ndim() > 0 ? a : flatten(a);
  const int at = normal_axis(op, axis ? *axis : 0, x.ndim());
  Shape shape = x.shape();
  shape[static_cast<size_t>(at)] = 1;
  const array result = make(new_primitive<ArgReduce>(at, largest), uint32, shape, {&x});
  if (axis && a.ndim() > 0) return keepdims ? result : squeeze(result, at);
  return reshape(result, keepdims ? Shape(a.ndim(), 1) : Shape());
}

}  // namespace

array argmax(const array& a, std::optional<int> axis, bool keepdims) {
  return arg_reduce("argmax", a, axis, keepdims, true);
}

array argmin(const array& a, std::optional<int> axis, bool keepdims) {
  return arg_reduce("argmin", a, axis, keepdims, false);
}

}  // namespace pippin::mx
