// Slices, and operations based on them.
#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/mx/core/primitive.h"
#include "pippin/mx/core/slice_bounds.h"
#include "pippin/mx/ops/axes.h"
#include "pippin/mx/ops/shape_ops.h"
#include "pippin/mx/record/recorder.h"

namespace pippin::mx {
namespace {

class Slice final : public PrimitiveWith<Slice> {
 public:
  Slice(Shape start, Shape steps) : start_(std::move(start)), steps_(std::move(steps)) {}
  std::string_view name() const noexcept override { return "slice"; }
  void eval(Node& out) const override {
    const Node& x = *out.inputs[0];
    Strides strides(x.strides.size());
    int64_t offset = 0;
    for (size_t i = 0; i < strides.size(); ++i) {
      strides[i] = x.strides[i] * steps_[i];
      offset += x.strides[i] * start_[i];
    }
    out.view(x, std::move(strides), out.size == 0 ? 0 : offset);
  }
  void record(Recorder& recorder, const Node& out) const override {
    mil::Shape begin, end;
    std::vector<int64_t> steps;
    std::vector<bool> to_end;
    for (size_t i = 0; i < start_.size(); ++i) {
      const auto number = [&](auto get) { return recorder.dim_of(out, *this, get); };
      const auto last = [i](const Node& node) {
        const auto& slice = static_cast<const Slice&>(*node.primitive);
        return slice.start_[i] + node.shape[i] * slice.steps_[i];
      };
      const mil::Dim step =
          number([i](const Slice& slice, const Node&) { return slice.steps_[i]; });
      if (!step.is_constant()) refuse_record(name(), "with steps that depend on sizes ");
      const bool is_to_end = recorder.always(out, [&](const Node& node) {
        return last(node) < 0 || last(node) >= node.inputs[0]->shape[i];
      });
      begin.push_back(number([i](const Slice& slice, const Node&) { return slice.start_[i]; }));
      // Clamps to the end; for negative strides, to before the first element.
      end.push_back(is_to_end ? mil::Dim(0) : number([&](const Slice& slice, const Node& node) {
        const int64_t behind = last(node) + (slice.steps_[i] < 0 ? 0 : 1 - slice.steps_[i]);
        if (node.shape[i] == 0) return slice.start_[i];
        if (behind < 0) refuse_record("slice", "that goes to the beginning for some sizes only ");
        return behind;
      }));
      to_end.push_back(is_to_end);
      steps.push_back(step.constant());
    }
    recorder.define(out, Recorder::one("slice_by_index", {{"x", recorder.input(out, 0)},
                                                          Recorder::dims("begin", begin),
                                                          Recorder::dims("end", end),
                                                          {"stride", steps},
                                                          {"end_mask", to_end}}));
  }
  auto members() const { return std::tie(start_, steps_); }
  bool records_numbers() const override { return true; }

 private:
  Shape start_, steps_;
};

// Starts at the position in its second input.
class DynamicSlice final : public PrimitiveWith<DynamicSlice> {
 public:
  explicit DynamicSlice(std::vector<int> axes) : axes_(std::move(axes)) {}
  std::string_view name() const noexcept override { return "slice"; }
  void eval(Node& out) const override {
    const Node& x = *out.inputs[0];
    out.view(x, x.strides, dynamic_offset(x, *out.inputs[1], axes_, out.shape));
  }
  void record(Recorder& recorder, const Node& out) const override {
    const Recorder::Value& x = recorder.input(out, 0);
    recorder.define(
        out,
        Recorder::one("slice_by_size",
                      {{"x", x},
                       {"begin", recorder.starts(out, 1, axes_, x.shape(), recorder.shape(out))},
                       Recorder::dims("size", recorder.shape(out))}));
  }
  auto members() const { return std::tie(axes_); }

 private:
  std::vector<int> axes_;
};

}  // namespace

SliceBounds slice_bounds(std::string_view op, const Shape& shape, const Shape& start,
                         const Shape& stop, const Shape& strides) {
  if (start.size() != shape.size() || stop.size() != shape.size() ||
      strides.size() != shape.size()) {
    fail(ErrorCode::InvalidArgument,
         "[{}] {} starts, {} stops and {} strides for an array of shape {}.", op, start.size(),
         stop.size(), strides.size(), to_string(shape));
  }
  SliceBounds result{start, strides, Shape(shape.size())};
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t size = shape[i], step = strides[i];
    if (step == 0) fail(ErrorCode::InvalidArgument, "[{}] The stride of axis {} is 0.", op, i);
    const int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
    const int64_t from =
        std::clamp(start[i] < 0 ? start[i] + size : start[i], low, std::max(low, high));
    const int64_t to = std::clamp(stop[i] < 0 ? stop[i] + size : stop[i], low, std::max(low, high));
    const int64_t length = step > 0 ? to - from : from - to;
    const int64_t by = step > 0 ? step : -step;
    result.start[i] = from;
    result.shape[i] = length > 0 ? (length + by - 1) / by : 0;
  }
  return result;
}

array slice(const array& a, Shape start, Shape stop, Shape strides) {
  SliceBounds bounds = slice_bounds("slice", a.shape(), start, stop, strides);
  const bool is_whole =
      bounds.shape == a.shape() &&
      std::all_of(strides.begin(), strides.end(), [](int64_t step) { return step > 0; });
  if (is_whole) return a;
  return make_view(new_primitive<Slice>(std::move(bounds.start), std::move(bounds.steps)),
                   a.dtype(), std::move(bounds.shape), a);
}

array slice(const array& a, const Shape& start, const Shape& stop) {
  return slice(a, start, stop, Shape(a.ndim(), 1));
}

array slice(const array& a, const array& start, const std::vector<int>& axes,
            const Shape& slice_size) {
  check_dynamic("slice", a.shape(), start, axes, slice_size);
  std::vector<int> normal;
  normal.reserve(axes.size());
  for (const int axis : axes) normal.push_back(normal_axis("slice", axis, a.ndim()));
  return make(new_primitive<DynamicSlice>(std::move(normal)), a.dtype(), slice_size, {&a, &start});
}

std::vector<array> split(const array& a, const Shape& indices, int axis) {
  const int at = normal_axis("split", axis, a.ndim());
  std::vector<array> result;
  for (size_t i = 0; i <= indices.size(); ++i) {
    const int64_t begin = i == 0 ? 0 : indices[i - 1];
    result.push_back(slice_axis(a, at, begin, i < indices.size() ? indices[i] : a.shape(at)));
  }
  return result;
}

std::vector<array> split(const array& a, int num_splits, int axis) {
  const auto at = static_cast<size_t>(normal_axis("split", axis, a.ndim()));
  if (num_splits <= 0 || a.shape()[at] % num_splits != 0) {
    fail(ErrorCode::InvalidArgument, "[split] An axis of size {} cannot be split into {} parts.",
         a.shape()[at], num_splits);
  }
  Shape indices;
  for (int i = 1; i < num_splits; ++i) indices.push_back(a.shape()[at] / num_splits * i);
  return split(a, indices, axis);
}

std::vector<array> unstack(const array& a, int axis) {
  const int at = normal_axis("unstack", axis, a.ndim());
  std::vector<array> result;
  for (int64_t i = 0; i < a.shape(at); ++i) {
    result.push_back(squeeze(slice_axis(a, at, i, i + 1), at));
  }
  return result;
}

array flip(const array& a, const std::optional<std::vector<int>>& axes) {
  Shape start(a.ndim(), 0), steps(a.ndim(), 1);
  Shape stop = a.shape();
  for (const int axis : chosen_axes("flip", axes, a)) {
    const auto at = static_cast<size_t>(axis);
    start[at] = a.shape()[at] - 1;
    stop[at] = -a.shape()[at] - 1;
    steps[at] = -1;
  }
  return slice(a, start, stop, steps);
}

}  // namespace pippin::mx
