#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/mx/core/convert.h"
#include "pippin/mx/core/copy.h"
#include "pippin/mx/core/index.h"
#include "pippin/mx/core/nest.h"
#include "pippin/mx/core/primitive.h"
#include "pippin/mx/ops/axes.h"
#include "pippin/mx/ops/indices.h"
#include "pippin/mx/ops/shape_ops.h"
#include "pippin/mx/ops/unary.h"
#include "pippin/mx/record/record_indexed.h"
#include "pippin/mx/record/recorder.h"

namespace pippin::mx {
namespace {

// Copies the blocks of x that begin at `offsets` into `out`, one after another.
void copy_blocks(const Node& x, const Shape& shape, const Strides& strides,
                 const std::vector<int64_t>& offsets, Node& out) {
  const int64_t size = num_elements(shape);
  const Strides packed = row_major_strides(shape);
  const Nest<2> nest(shape, {&strides, &packed});
  const auto steps = nest.steps();
  with_unsigned(size_of(x.dtype), [&](auto type) {
    using T = typename decltype(type)::type;
    parallel(static_cast<int64_t>(offsets.size()), out.size, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* from = reinterpret_cast<const T*>(x.data) + offsets[static_cast<size_t>(i)];
        T* to = reinterpret_cast<T*>(out.data) + i * size;
        if (size == 1) {
          *to = *from;
          continue;
        }
        nest.each(0, nest.runs(), [&](const Nest<2>::Offsets& at, int64_t count) {
          if (steps[0] == 1) return (void)std::copy_n(from + at[0], count, to + at[1]);
          for (int64_t j = 0; j < count; ++j) to[at[1] + j] = from[at[0] + j * steps[0]];
        });
      }
    });
  });
}

mil::Shape shape_of_x(Recorder& recorder, const Node& out) {
  recorder.record(*out.inputs[0]);
  return recorder.shape(*out.inputs[0]);
}

class Take final : public PrimitiveWith<Take> {
 public:
  explicit Take(int axis) : axis_(static_cast<size_t>(axis)) {}
  std::string_view name() const noexcept override { return "take"; }
  void eval(Node& out) const override {
    const Node& x = *out.inputs[0];
    const std::vector<int64_t> indices = read_indices("take", *out.inputs[1], x.shape[axis_]);
    out.allocate();
    const auto split = [this](const auto& all) {
      using All = std::decay_t<decltype(all)>;
      return std::pair(All(all.begin(), all.begin() + axis_),
                       All(all.begin() + axis_ + 1, all.end()));
    };
    const auto [outer_shape, block_shape] = split(x.shape);
    const auto [outer_strides, block_strides] = split(x.strides);
    if (out.size == 0) return;
    std::vector<int64_t> offsets;
    offsets.reserve(static_cast<size_t>(out.size / num_elements(block_shape)));
    const Nest<1> outer(outer_shape, {&outer_strides});
    outer.each(0, outer.runs(), [&](const Nest<1>::Offsets& at, int64_t run) {
      for (int64_t j = 0; j < run; ++j) {
        const int64_t first = at[0] + j * outer.steps()[0];
        for (const int64_t index : indices) offsets.push_back(first + index * x.strides[axis_]);
      }
    });
    copy_blocks(x, block_shape, block_strides, offsets, out);
  }
  void record(Recorder& recorder, const Node& out) const override {
    recorder.define(
        out, pippin::array::gather(recorder.input(out, 0),
                                   recorder.indices(out, 1, shape_of_x(recorder, out)[axis_]),
                                   static_cast<int64_t>(axis_)));
  }
  auto members() const { return std::tie(axis_); }

 private:
  size_t axis_;
};

class Gather final : public PrimitiveWith<Gather> {
 public:
  Gather(std::vector<int> axes, Shape slice_sizes)
      : axes_(std::move(axes)), slice_sizes_(std::move(slice_sizes)) {}
  std::string_view name() const noexcept override { return "gather"; }
  void eval(Node& out) const override {
    const Node& x = *out.inputs[0];
    out.allocate();
    if (out.size == 0) return;
    const Shape places(out.shape.begin(), out.shape.begin() + (out.shape.size() - x.shape.size()));
    copy_blocks(x, slice_sizes_, x.strides,
                block_offsets("gather", out, 1, axes_, places, slice_sizes_, x), out);
  }
  void record(Recorder& recorder, const Node& out) const override {
    record_gather(recorder, out, axes_, slice_sizes_);
  }
  auto members() const { return std::tie(axes_, slice_sizes_); }
  bool records_numbers() const override { return true; }

 private:
  std::vector<int> axes_;
  Shape slice_sizes_;
};

class TakeAlongAxis final : public PrimitiveWith<TakeAlongAxis> {
 public:
  explicit TakeAlongAxis(int axis) : axis_(static_cast<size_t>(axis)) {}
  std::string_view name() const noexcept override { return "take_along_axis"; }
  void eval(Node& out) const override {
    const Node& x = *out.inputs[0];
    const std::vector<int64_t> indices =
        read_indices("take_along_axis", *out.inputs[1], x.shape[axis_]);
    out.allocate();
    Shape aside = x.shape;
    aside[axis_] = 1;
    Strides x_strides = broadcast_strides(aside, x.strides, out.shape);
    x_strides[axis_] = 0;
    Shape index_shape = out.inputs[1]->shape;
    const Strides index_strides =
        broadcast_strides(index_shape, row_major_strides(index_shape), out.shape);
    const Nest<3> nest(out.shape, {&x_strides, &index_strides, &out.strides});
    const int64_t step = x.strides[axis_];
    with_unsigned(size_of(x.dtype), [&](auto type) {
      using T = typename decltype(type)::type;
      const auto* from = reinterpret_cast<const T*>(x.data);
      auto* to = reinterpret_cast<T*>(out.data);
      const auto steps = nest.steps();
      nest.all(2, [&](const Nest<3>::Offsets& at, int64_t count) {
        for (int64_t i = 0; i < count; ++i) {
          const int64_t index = indices[static_cast<size_t>(at[1] + i * steps[1])];
          to[at[2] + i * steps[2]] = from[at[0] + i * steps[0] + index * step];
        }
      });
    });
  }
  void record(Recorder& recorder, const Node& out) const override {
    const mil::Shape shape = recorder.shape(out), whole = shape_of_x(recorder, out);
    mil::Shape aside = shape;
    aside[axis_] = whole[axis_];
    recorder.define(
        out, Recorder::one(
                 "gather_along_axis",
                 {{"x", recorder.broadcast(recorder.input(out, 0), aside)},
                  {"indices", recorder.broadcast(recorder.indices(out, 1, whole[axis_]), shape)},
                  {"axis", static_cast<int64_t>(axis_)}}));
  }
  auto members() const { return std::tie(axis_); }

 private:
  size_t axis_;
};

}  // namespace

std::vector<int64_t> block_offsets(std::string_view op, const Node& node, size_t first_index,
                                   const std::vector<int>& axes, const Shape& places,
                                   const Shape& slice_sizes, const Node& x) {
  const int64_t count = num_elements(places);
  std::vector<int64_t> offsets(static_cast<size_t>(count), 0);
  const Strides packed = row_major_strides(places);
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto axis = static_cast<size_t>(axes[k]);
    const Node& index = *node.inputs[first_index + k];
    const std::vector<int64_t> values = read_indices(op, index, x.shape[axis]);
    const int64_t last = x.shape[axis] - slice_sizes[axis];
    const Strides strides = broadcast_strides(index.shape, row_major_strides(index.shape), places);
    const Nest<2> nest(places, {&strides, &packed});
    nest.each(0, nest.runs(), [&](const Nest<2>::Offsets& at, int64_t run) {
      for (int64_t i = 0; i < run; ++i) {
        const int64_t value = values[static_cast<size_t>(at[0] + i * nest.steps()[0])];
        if (value > last) {
          fail(ErrorCode::InvalidArgument,
               "[{}] A slice of {} elements from {} on does not fit into an axis of size {}.", op,
               slice_sizes[axis], value, x.shape[axis]);
        }
        offsets[static_cast<size_t>(at[1] + i * nest.steps()[1])] += value * x.strides[axis];
      }
    });
  }
  return offsets;
}

Shape check_block_indices(std::string_view op, const array& a, const std::vector<array>& indices,
                          std::vector<int>& axes) {
  if (indices.size() != axes.size() || indices.size() > a.ndim()) {
    fail(ErrorCode::InvalidArgument, "[{}] {} index arrays for {} axes of an array of shape {}.",
         op, indices.size(), axes.size(), to_string(a.shape()));
  }
  normal_axes(op, axes, a.ndim());
  Shape places;
  for (size_t k = 0; k < indices.size(); ++k) {
    axes[k] = normal_axis(op, axes[k], a.ndim());
    check_index_type(op, indices[k]);
    places = broadcast_shapes(op, places, indices[k].shape());
  }
  return places;
}

array take(const array& a, const array& indices, std::optional<int> axis) {
  check_index_type("take", indices);
  const array x = axis ? a : flatten(a);
  const int at = normal_axis("take", axis ? *axis : 0, x.ndim());
  if (x.shape(at) == 0 && indices.size() > 0) {
    fail(ErrorCode::InvalidArgument, "[take] Axis {} of {} has no elements.", at,
         to_string(x.shape()));
  }
  Shape shape(x.shape().begin(), x.shape().begin() + at);
  for (const int64_t size : indices.shape()) shape.push_back(size);
  for (size_t i = static_cast<size_t>(at) + 1; i < x.ndim(); ++i) shape.push_back(x.shape()[i]);
  return make(new_primitive<Take>(at), x.dtype(), std::move(shape), {&x, &indices});
}

array take(const array& a, int64_t index, int axis) {
  const int at = normal_axis("take", axis, a.ndim());
  const int64_t size = a.shape(at);
  if (index < -size || index >= size) {
    fail(ErrorCode::InvalidArgument, "[take] Index {} is out of bounds for an axis of size {}.",
         index, size);
  }
  const int64_t place = index < 0 ? index + size : index;
  return squeeze(slice_axis(a, at, place, place + 1), at);
}

array take_along_axis(const array& a, const array& indices, std::optional<int> axis) {
  check_index_type("take_along_axis", indices);
  const array x = axis ? a : flatten(a);
  const array places = axis ? indices : flatten(indices);
  const int at = normal_axis("take_along_axis", axis ? *axis : 0, x.ndim());
  if (places.ndim() != x.ndim()) {
    fail(ErrorCode::InvalidArgument,
         "[take_along_axis] Indices of shape {} for an array of shape {}.",
         to_string(places.shape()), to_string(x.shape()));
  }
  Shape aside = x.shape();
  aside[static_cast<size_t>(at)] = 1;
  Shape shape = places.shape();
  shape[static_cast<size_t>(at)] = 1;
  shape = broadcast_shapes("take_along_axis", aside, shape);
  shape[static_cast<size_t>(at)] = places.shape(at);
  return make(new_primitive<TakeAlongAxis>(at), x.dtype(), std::move(shape), {&x, &places});
}

array gather(const array& a, const std::vector<array>& indices, const std::vector<int>& axes,
             const Shape& slice_sizes) {
  std::vector<int> normal = axes;
  Shape shape = check_block_indices("gather", a, indices, normal);
  bool fits = slice_sizes.size() == a.ndim();
  for (size_t i = 0; fits && i < a.ndim(); ++i) {
    fits = slice_sizes[i] >= 0 && slice_sizes[i] <= a.shape()[i];
  }
  if (!fits) {
    fail(ErrorCode::InvalidArgument, "[gather] Slices of shape {} do not fit into {}.",
         to_string(slice_sizes), to_string(a.shape()));
  }
  for (const int64_t size : slice_sizes) shape.push_back(size);
  std::vector<array> inputs = {a};
  inputs.insert(inputs.end(), indices.begin(), indices.end());
  return make(new_primitive<Gather>(std::move(normal), slice_sizes), a.dtype(), std::move(shape),
              std::span<const array>(inputs));
}

}  // namespace pippin::mx
