// The same elements in another type, or the same bytes as another type.
#include <string>

#include "pippin/base/error.h"
#include "pippin/mx/core/convert.h"
#include "pippin/mx/core/copy.h"
#include "pippin/mx/core/primitive.h"
#include "pippin/mx/ops/complex.h"
#include "pippin/mx/ops/create.h"
#include "pippin/mx/ops/unary.h"
#include "pippin/mx/record/recorder.h"

namespace pippin::mx {
namespace {

class AsType final : public Primitive {
 public:
  std::string_view name() const noexcept override { return "astype"; }
  void eval(Node& out) const override {
    const Node& x = *out.inputs[0];
    out.allocate_or_take(0);
    mx::copy(out.shape, {x.data, x.dtype, &x.strides}, {out.data, out.dtype, &out.strides});
  }
  void record(Recorder& recorder, const Node& out) const override {
    const Recorder::Value& x = recorder.input(out, 0);
    if (out.dtype == bool_ && x.type() != mil::DataType::Bool) {
      return recorder.define(out,
                             Recorder::one("not_equal", {{"x", x}, {"y", Recorder::number(x, 0)}}));
    }
    if (!can_cast(out.inputs[0]->dtype, out.dtype)) refuse_narrow_integers(name(), out.dtype);
    recorder.define(out, x);
  }
};

// The same bytes; the last axis changes size with the elements.
class View final : public Primitive {
 public:
  std::string_view name() const noexcept override { return "view"; }
  void eval(Node& out) const override {
    const Node& x = *out.inputs[0];
    if (x.row_major) {
      out.buffer = x.buffer;
      out.data = x.data;
    } else {
      const Ref<Node> copied = row_major(out.inputs[0]);
      out.buffer = copied->buffer;
      out.data = copied->data;
    }
    out.strides = row_major_strides(out.shape);
    out.row_major = true;
  }
};

// Parts of a complex number, as its floats.
class ComplexPart final : public Primitive {
 public:
  explicit ComplexPart(int part) : part_(part) {}
  std::string_view name() const noexcept override { return part_ == 0 ? "real" : "imag"; }
  void eval(Node& out) const override {
    const Node& x = *out.inputs[0];
    Strides strides = x.strides;
    for (int64_t& stride : strides) stride *= 2;
    out.view(x, std::move(strides));
    out.data += part_ * 4;
  }

 private:
  int part_;
};

}  // namespace

array astype(const array& a, Dtype dtype) {
  if (a.dtype() == dtype) return a;
  if (a.ndim() == 0 && a.is_available()) {  // a number: converted immediately
    return array(a.node()->data, a.dtype(), Shape(), dtype);
  }
  return make(shared_primitive<AsType>(), dtype, a.shape(), {&a});
}

array view(const array& a, Dtype dtype) {
  if (a.dtype() == dtype) return a;
  const auto before = static_cast<int64_t>(a.itemsize());
  const auto after = static_cast<int64_t>(size_of(dtype));
  Shape shape = a.shape();
  if (before != after) {
    if (shape.empty()) {
      fail(ErrorCode::InvalidArgument, "[view] A number of {} cannot be seen as {}.",
           to_string(a.dtype()), to_string(dtype));
    }
    if (shape.back() * before % after != 0) {
      fail(ErrorCode::InvalidArgument,
           "[view] The last axis of {} has {} bytes, which {} of {} bytes do not fill.",
           to_string(shape), shape.back() * before, to_string(dtype), after);
    }
    shape.back() = shape.back() * before / after;
  }
  return make(shared_primitive<View>(), dtype, std::move(shape), {&a});
}

array real(const array& a) {
  if (a.dtype() != complex64) return a;
  return make(shared_primitive<ComplexPart, 0>(), float32, a.shape(), {&a});
}

array imag(const array& a) {
  if (a.dtype() != complex64) return zeros_like(a);
  return make(shared_primitive<ComplexPart, 1>(), float32, a.shape(), {&a});
}

array conjugate(const array& a) {
  return a.dtype() == complex64 ? make_complex(real(a), negative(imag(a))) : a;
}

}  // namespace pippin::mx
