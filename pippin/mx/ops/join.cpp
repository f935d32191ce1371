// Joins and repeats arrays.
#include <algorithm>
#include <cstdlib>

#include "pippin/base/error.h"
#include "pippin/mx/core/copy.h"
#include "pippin/mx/core/index.h"
#include "pippin/mx/core/primitive.h"
#include "pippin/mx/ops/append.h"
#include "pippin/mx/ops/binary.h"
#include "pippin/mx/ops/create.h"
#include "pippin/mx/ops/reduce.h"
#include "pippin/mx/ops/shape_ops.h"
#include "pippin/mx/ops/unary.h"
#include "pippin/mx/record/recorder.h"

namespace pippin::mx {
namespace {

class Concatenate final : public PrimitiveWith<Concatenate> {
 public:
  explicit Concatenate(int axis) : axis_(static_cast<size_t>(axis)) {}
  std::string_view name() const noexcept override { return "concatenate"; }
  void eval(Node& out) const override {
    const size_t first = begin_append(out, axis_);
    int64_t at = 0;
    for (size_t i = 0; i < out.inputs.size(); ++i) {
      const Node& x = *out.inputs[i];
      if (i >= first && x.size > 0) {
        const auto bytes = at * out.strides[axis_] * static_cast<int64_t>(size_of(out.dtype));
        mx::copy(x.shape, {x.data, x.dtype, &x.strides},
                 {out.data + bytes, out.dtype, &out.strides});
      }
      at += x.shape[axis_];
    }
  }
  void record(Recorder& recorder, const Node& out) const override {
    std::vector<Recorder::Value> values;
    for (size_t i = 0; i < out.inputs.size(); ++i) {
      const bool is_empty =
          recorder.always(out, [i](const Node& node) { return node.inputs[i]->size == 0; });
      if (!is_empty) values.push_back(recorder.input(out, i));
    }
    if (values.empty()) refuse_record(name(), "of nothing ");
    recorder.define(out, pippin::array::concat(values, static_cast<int64_t>(axis_)));
  }
  auto members() const { return std::tie(axis_); }

 private:
  size_t axis_;
};

class Pad final : public PrimitiveWith<Pad> {
 public:
  Pad(Shape low, bool is_edge) : low_(std::move(low)), is_edge_(is_edge) {}
  std::string_view name() const noexcept override { return "pad"; }
  void eval(Node& out) const override {
    const Node& x = *out.inputs[0];
    out.allocate();
    const auto item = static_cast<int64_t>(size_of(out.dtype));
    int64_t offset = 0;
    for (size_t i = 0; i < low_.size(); ++i) offset += low_[i] * out.strides[i];
    if (!is_edge_) {
      const Node& value = *out.inputs[1];
      const Strides none(out.shape.size(), 0);
      mx::copy(out.shape, {value.data, out.dtype, &none}, {out.data, out.dtype, &out.strides});
    }
    if (x.size == 0) return;
    mx::copy(x.shape, {x.data, x.dtype, &x.strides},
             {out.data + offset * item, out.dtype, &out.strides});
    if (is_edge_) spread_edges(x, out);
  }
  void record(Recorder& recorder, const Node& out) const override {
    if (is_edge_) refuse_record(name(), "by edges ");
    mil::Shape widths;
    for (size_t i = 0; i < low_.size(); ++i) {
      widths.push_back(
          recorder.dim_of(out, *this, [i](const Pad& pad, const Node&) { return pad.low_[i]; }));
      widths.push_back(recorder.dim_of(out, *this, [i](const Pad& pad, const Node& node) {
        return node.shape[i] - pad.low_[i] - node.inputs[0]->shape[i];
      }));
    }
    const Node& value = *out.inputs[1];
    if (!recorder.is_constant(value)) refuse_record(name(), "with a value that is computed ");
    const Recorder::Value& x = recorder.input(out, 0);
    double number;
    copy_to(value, reinterpret_cast<std::byte*>(&number), float64);
    recorder.define(
        out, Recorder::one("pad", {{"x", x},
                                   Recorder::dims("pad", widths),
                                   {"mode", "constant"},
                                   {"constant_val", mil::Value::of_float(x.type(), number)}}));
  }
  auto members() const { return std::tie(low_, is_edge_); }
  bool records_numbers() const override { return true; }

 private:
  // Copies the first and the last filled layer outwards, axis by axis.
  void spread_edges(const Node& x, Node& out) const {
    const auto item = static_cast<int64_t>(size_of(out.dtype));
    Shape filled = x.shape;  // starts at low_
    Shape begin = low_;
    for (size_t axis = 0; axis < filled.size(); ++axis) {
      int64_t corner = 0;
      for (size_t i = 0; i < filled.size(); ++i) corner += begin[i] * out.strides[i];
      Strides same = out.strides;
      same[axis] = 0;
      const auto spread = [&](int64_t layer, int64_t to, int64_t count) {
        if (count == 0) return;
        Shape part = filled;
        part[axis] = count;
        const int64_t from = corner + (layer - begin[axis]) * out.strides[axis];
        const int64_t at = corner + (to - begin[axis]) * out.strides[axis];
        mx::copy(part, {out.data + from * item, out.dtype, &same},
                 {out.data + at * item, out.dtype, &out.strides});
      };
      const int64_t end = begin[axis] + filled[axis];
      spread(begin[axis], 0, begin[axis]);
      spread(end - 1, end, out.shape[axis] - end);
      begin[axis] = 0;
      filled[axis] = out.shape[axis];
    }
  }

  Shape low_;
  bool is_edge_;
};

}  // namespace

array concatenate(const std::vector<array>& arrays, int axis) {
  if (arrays.empty()) fail(ErrorCode::InvalidArgument, "[concatenate] No arrays are given.");
  const array& first = arrays[0];
  const auto at = static_cast<size_t>(normal_axis("concatenate", axis, first.ndim()));
  if (arrays.size() == 1) return first;
  const Dtype dtype = result_type(arrays);
  Shape shape = first.shape();
  shape[at] = 0;
  std::vector<array> inputs;
  inputs.reserve(arrays.size());
  for (const array& each : arrays) {
    bool fits = each.ndim() == first.ndim();
    for (size_t i = 0; fits && i < shape.size(); ++i) {
      fits = i == at || each.shape()[i] == shape[i];
    }
    if (!fits) {
      fail(ErrorCode::InvalidArgument,
           "[concatenate] Arrays of shapes {} and {} do not fit together along axis {}.",
           to_string(first.shape()), to_string(each.shape()), at);
    }
    shape[at] += each.shape()[at];
    inputs.push_back(astype(each, dtype));
  }
  return make(new_primitive<Concatenate>(static_cast<int>(at)), dtype, std::move(shape),
              std::span<const array>(inputs));
}

array stack(const std::vector<array>& arrays, int axis) {
  if (arrays.empty()) fail(ErrorCode::InvalidArgument, "[stack] No arrays are given.");
  const int at = normal_axis("stack", axis, arrays[0].ndim() + 1);
  std::vector<array> expanded;
  for (const array& each : arrays) {
    if (!(each.shape() == arrays[0].shape())) {
      fail(ErrorCode::InvalidArgument, "[stack] Arrays of shapes {} and {} differ.",
           to_string(arrays[0].shape()), to_string(each.shape()));
    }
    expanded.push_back(expand_dims(each, at));
  }
  return concatenate(expanded, at);
}

array repeat(const array& a, int repeats, std::optional<int> axis) {
  if (repeats < 0) {
    fail(ErrorCode::InvalidArgument, "[repeat] Cannot repeat {} times.", repeats);
  }
  const array x = axis ? a : flatten(a);
  const auto at = static_cast<size_t>(normal_axis("repeat", axis ? *axis : 0, x.ndim()));
  Shape wide = x.shape();
  wide.insert(wide.begin() + at + 1, repeats);
  Shape shape = x.shape();
  shape[at] *= repeats;
  return reshape(broadcast_to(expand_dims(x, static_cast<int>(at) + 1), wide), shape);
}

array tile(const array& a, const std::vector<int>& repetitions) {
  const size_t rank = std::max(a.ndim(), repetitions.size());
  Shape single, wide, result;  // an axis of repetitions before each axis
  for (size_t i = 0; i < rank; ++i) {
    const size_t from_end = rank - i;
    const int64_t size = from_end <= a.ndim() ? a.shape()[a.ndim() - from_end] : 1;
    const int64_t times =
        from_end <= repetitions.size() ? repetitions[repetitions.size() - from_end] : 1;
    if (times < 0) fail(ErrorCode::InvalidArgument, "[tile] Cannot repeat {} times.", times);
    single.push_back(1);
    single.push_back(size);
    wide.push_back(times);
    wide.push_back(size);
    result.push_back(times * size);
  }
  return reshape(broadcast_to(reshape(a, single), wide), result);
}

namespace {

// Reflects at both ends of each axis; `is_twice` repeats the ends themselves.
array pad_mirrored(array a, const std::vector<std::pair<int, int>>& widths, bool is_twice) {
  for (size_t axis = 0; axis < widths.size(); ++axis) {
    const auto [before, behind] = widths[axis];
    const int64_t size = a.shape()[axis];
    if (before == 0 && behind == 0) continue;
    if (size == 0) {
      fail(ErrorCode::InvalidArgument, "[pad] Axis {} of {} has nothing to be mirrored.", axis,
           to_string(a.shape()));
    }
    const int64_t period = std::max<int64_t>(1, is_twice ? 2 * size : 2 * (size - 1));
    std::vector<int64_t> places;
    for (int64_t i = -before; i < size + behind; ++i) {
      const int64_t at = (i % period + period) % period;
      places.push_back(at < size ? at : period - at - (is_twice ? 1 : 0));
    }
    const auto count = static_cast<int64_t>(places.size());
    a = take(a, array(places, Shape{count}, int64), static_cast<int>(axis));
  }
  return a;
}

}  // namespace

array pad(const array& a, const std::vector<std::pair<int, int>>& widths, const array& value,
          const std::string& mode) {
  if (widths.size() != a.ndim()) {
    fail(ErrorCode::InvalidArgument, "[pad] {} pairs of widths for an array of shape {}.",
         widths.size(), to_string(a.shape()));
  }
  const bool is_mirrored = mode == "reflect" || mode == "symmetric";
  if (mode != "constant" && mode != "edge" && !is_mirrored) {
    fail(ErrorCode::InvalidArgument,
         "[pad] The mode is \"constant\", \"edge\", \"reflect\" or \"symmetric\", not \"{}\".",
         mode);
  }
  if (value.size() != 1) {
    fail(ErrorCode::InvalidArgument, "[pad] One value is needed, not {}.",
         to_string(value.shape()));
  }
  Shape shape = a.shape(), low(a.ndim(), 0);
  for (size_t i = 0; i < widths.size(); ++i) {
    if (widths[i].first < 0 || widths[i].second < 0) {
      fail(ErrorCode::InvalidArgument, "[pad] Invalid widths {} and {} on axis {}.",
           widths[i].first, widths[i].second, i);
    }
    low[i] = widths[i].first;
    shape[i] += widths[i].first + widths[i].second;
  }
  if (shape == a.shape()) return a;
  if (is_mirrored) return pad_mirrored(a, widths, mode == "symmetric");
  if (mode == "edge" && a.size() == 0) {
    fail(ErrorCode::InvalidArgument, "[pad] An array of shape {} has no edge.",
         to_string(a.shape()));
  }
  const array fill = astype(value, a.dtype());
  return make(new_primitive<Pad>(std::move(low), mode == "edge"), a.dtype(), std::move(shape),
              {&a, &fill});
}

array roll(const array& a, const Shape& shifts, const std::optional<std::vector<int>>& axes) {
  if (!axes) {
    int64_t total = 0;
    for (const int64_t shift : shifts) total += shift;
    return reshape(roll(flatten(a), Shape{total}, std::vector<int>{0}), a.shape());
  }
  if (shifts.size() != axes->size() && shifts.size() != 1) {
    fail(ErrorCode::InvalidArgument, "[roll] {} shifts for {} axes.", shifts.size(), axes->size());
  }
  array result = a;
  for (size_t i = 0; i < axes->size(); ++i) {
    const int at = normal_axis("roll", (*axes)[i], a.ndim());
    const int64_t size = a.shape(at);
    if (size == 0) continue;
    const int64_t shift = ((shifts[shifts.size() == 1 ? 0 : i] % size) + size) % size;
    if (shift == 0) continue;
    const std::vector<array> parts = split(result, Shape{size - shift}, at);
    result = concatenate({parts[1], parts[0]}, at);
  }
  return result;
}

array diag(const array& a, int k) {
  if (a.ndim() == 2) return diagonal(a, k, 0, 1);
  if (a.ndim() != 1) {
    fail(ErrorCode::InvalidArgument, "[diag] A vector or a matrix is needed, not {}.",
         to_string(a.shape()));
  }
  const int64_t n = a.size() + std::abs(k);
  if (a.size() == 0) return zeros({n, n}, a.dtype());
  const int64_t count = a.size();
  const array places =
      add(arange(0, static_cast<double>(count), 1, int64), array(int64_t{k < 0 ? -k : 0}, int64));
  const array columns =
      add(arange(0, static_cast<double>(count), 1, int64), array(int64_t{k > 0 ? k : 0}, int64));
  return scatter(zeros({n, n}, a.dtype()), {places, columns}, reshape(a, {count, 1, 1}), {0, 1});
}

array trace(const array& a, int offset, int axis1, int axis2, std::optional<Dtype> dtype) {
  const array line = diagonal(a, offset, axis1, axis2);
  const array total = sum(dtype ? astype(line, *dtype) : line, -1);
  return astype(total, dtype ? *dtype : total.dtype());
}

}  // namespace pippin::mx
