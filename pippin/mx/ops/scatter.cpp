#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/mx/core/copy.h"
#include "pippin/mx/core/index.h"
#include "pippin/mx/core/nest.h"
#include "pippin/mx/core/primitive.h"
#include "pippin/mx/core/slice_bounds.h"
#include "pippin/mx/ops/indices.h"
#include "pippin/mx/ops/shape_ops.h"
#include "pippin/mx/ops/unary.h"
#include "pippin/mx/ops/update.h"
#include "pippin/mx/record/record_indexed.h"
#include "pippin/mx/record/recorder.h"

namespace pippin::mx {
namespace {

// Inputs: a, updates, index arrays.
class Scatter final : public PrimitiveWith<Scatter> {
 public:
  Scatter(std::vector<int> axes, UpdateMode mode) : axes_(std::move(axes)), mode_(mode) {}
  std::string_view name() const noexcept override { return "scatter"; }
  void eval(Node& out) const override {
    const Node& updates = *out.inputs[1];
    const size_t rank = out.shape.size(), places_rank = updates.shape.size() - rank;
    const Shape places(updates.shape.begin(), updates.shape.begin() + places_rank);
    const Shape slice(updates.shape.begin() + places_rank, updates.shape.end());
    const Strides outer(updates.strides.begin(), updates.strides.begin() + places_rank);
    const Strides inner(updates.strides.begin() + places_rank, updates.strides.end());
    if (updates.size == 0) return begin_update(out);
    // Checks indices before writing anything.
    block_offsets("scatter", out, 2, axes_, places, slice, *out.inputs[0]);
    begin_update(out);
    const std::vector<int64_t> offsets =
        block_offsets("scatter", out, 2, axes_, places, slice, out);
    const Updater updater(mode_, out.dtype);
    const Strides packed = row_major_strides(places);
    const Nest<2> nest(places, {&outer, &packed});
    nest.each(0, nest.runs(), [&](const Nest<2>::Offsets& at, int64_t run) {
      for (int64_t i = 0; i < run; ++i) {
        const auto place = static_cast<size_t>(at[1] + i * nest.steps()[1]);
        updater.block(slice, out, out.strides, offsets[place], updates, inner,
                      at[0] + i * nest.steps()[0]);
      }
    });
  }
  void record(Recorder& recorder, const Node& out) const override {
    record_scatter(recorder, out, axes_, mode_);
  }
  auto members() const { return std::tie(axes_, mode_); }

 private:
  std::vector<int> axes_;
  UpdateMode mode_;
};

// Inputs: a, indices, values.
class ScatterAxis final : public PrimitiveWith<ScatterAxis> {
 public:
  ScatterAxis(int axis, UpdateMode mode) : axis_(static_cast<size_t>(axis)), mode_(mode) {}
  std::string_view name() const noexcept override { return "put_along_axis"; }
  void eval(Node& out) const override {
    const std::vector<int64_t> indices =
        read_indices("put_along_axis", *out.inputs[1], out.shape[axis_]);
    begin_update(out);
    const Node& values = *out.inputs[2];
    const Shape& index_shape = out.inputs[1]->shape;
    Shape shape = out.shape;
    shape[axis_] = index_shape[axis_];
    const Strides index_strides =
        broadcast_strides(index_shape, row_major_strides(index_shape), shape);
    const Strides value_strides = broadcast_strides(values.shape, values.strides, shape);
    Strides places = out.strides;
    const int64_t step = places[axis_];
    places[axis_] = 0;
    const Updater updater(mode_, out.dtype);
    const auto item = static_cast<int64_t>(size_of(out.dtype));
    const Nest<3> nest(shape, {&places, &index_strides, &value_strides});
    nest.each(0, nest.runs(), [&](const Nest<3>::Offsets& at, int64_t count) {
      const auto& steps = nest.steps();
      for (int64_t i = 0; i < count; ++i) {
        const int64_t index = indices[static_cast<size_t>(at[1] + i * steps[1])];
        updater.run(out.data + (at[0] + i * steps[0] + index * step) * item, 1,
                    values.data + (at[2] + i * steps[2]) * item, 1, 1);
      }
    });
  }
  void record(Recorder& recorder, const Node& out) const override {
    record_scatter_axis(recorder, out, axis_, mode_);
  }
  auto members() const { return std::tie(axis_, mode_); }

 private:
  size_t axis_;
  UpdateMode mode_;
};

class SliceUpdate final : public PrimitiveWith<SliceUpdate> {
 public:
  SliceUpdate(SliceBounds bounds, UpdateMode mode) : bounds_(std::move(bounds)), mode_(mode) {}
  std::string_view name() const noexcept override { return "slice_update"; }
  void eval(Node& out) const override {
    begin_update(out);
    const Node& update = *out.inputs[1];
    Strides strides = out.strides;
    int64_t offset = 0;
    for (size_t i = 0; i < strides.size(); ++i) {
      offset += bounds_.start[i] * strides[i];
      strides[i] *= bounds_.steps[i];
    }
    const Strides from = broadcast_strides(update.shape, update.strides, bounds_.shape);
    if (num_elements(bounds_.shape) == 0) return;
    Updater(mode_, out.dtype).block(bounds_.shape, out, strides, offset, update, from, 0);
  }
  void record(Recorder& recorder, const Node& out) const override {
    std::vector<pippin::array::Index> places;
    mil::Shape shape;
    for (size_t i = 0; i < bounds_.start.size(); ++i) {
      if (bounds_.steps[i] != 1) refuse_record(name(), "with steps ");
      const mil::Dim start = recorder.dim_of(
          out, *this, [i](const SliceUpdate& p, const Node&) { return p.bounds_.start[i]; });
      shape.push_back(recorder.dim_of(
          out, *this, [i](const SliceUpdate& p, const Node&) { return p.bounds_.shape[i]; }));
      places.push_back(pippin::array::Index::range(start, start + shape.back()));
    }
    const Recorder::Value &x = recorder.input(out, 0), &update = recorder.input(out, 1);
    Recorder::Value part = recorder.broadcast(update, shape);
    if (mode_ != UpdateMode::None) part = combined(mode_, pippin::array::slice(x, places), part);
    recorder.define(out, pippin::array::slice_update(x, part, places));
  }
  auto members() const { return std::tie(bounds_.start, bounds_.steps, bounds_.shape, mode_); }
  bool records_numbers() const override { return true; }

 private:
  SliceBounds bounds_;
  UpdateMode mode_;
};

// Inputs: a, update, start.
class DynamicSliceUpdate final : public PrimitiveWith<DynamicSliceUpdate> {
 public:
  explicit DynamicSliceUpdate(std::vector<int> axes) : axes_(std::move(axes)) {}
  std::string_view name() const noexcept override { return "slice_update"; }
  void eval(Node& out) const override {
    begin_update(out);
    const Node& update = *out.inputs[1];
    const int64_t offset = dynamic_offset(out, *out.inputs[2], axes_, update.shape);
    Updater(UpdateMode::None, out.dtype)
        .block(update.shape, out, out.strides, offset, update, update.strides, 0);
  }
  void record(Recorder& recorder, const Node& out) const override {
    const Recorder::Value &x = recorder.input(out, 0), &update = recorder.input(out, 1);
    const Recorder::Value begin = recorder.starts(out, 2, axes_, x.shape(), update.shape());
    recorder.define(
        out, Recorder::one("slice_update",
                           {{"x", x},
                            {"update", update},
                            {"begin", begin},
                            {"end", pippin::array::add(begin, Recorder::vector(update.shape()))}}));
  }
  auto members() const { return std::tie(axes_); }

 private:
  std::vector<int> axes_;
};

// Inputs: a, the mask in its shape, the values in order.
class MaskedScatter final : public Primitive {
 public:
  std::string_view name() const noexcept override { return "masked_scatter"; }
  void eval(Node& out) const override {
    const Ref<Node> mask = row_major(out.inputs[1]);
    const Ref<Node> values = row_major(out.inputs[2]);
    const auto* is_chosen = reinterpret_cast<const uint8_t*>(mask->data);
    const auto wanted = static_cast<int64_t>(
        std::count_if(is_chosen, is_chosen + mask->size, [](uint8_t b) { return b != 0; }));
    if (wanted > values->size) {
      fail(ErrorCode::InvalidArgument, "[masked_scatter] The mask takes {} elements, there are {}.",
           wanted, values->size);
    }
    begin_update(out);
    const Strides packed = row_major_strides(out.shape);
    const auto item = static_cast<int64_t>(size_of(out.dtype));
    const Nest<2> nest(out.shape, {&packed, &out.strides});
    const std::byte* next = values->data;
    nest.each(0, nest.runs(), [&](const Nest<2>::Offsets& at, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        if (is_chosen[at[0] + i * nest.steps()[0]] == 0) continue;
        std::copy(next, next + item, out.data + (at[1] + i * nest.steps()[1]) * item);
        next += item;
      }
    });
  }
};

array put_axis(const char* op, const array& a, const array& indices, const array& values, int axis,
               UpdateMode mode) {
  check_index_type(op, indices);
  const auto at = static_cast<size_t>(normal_axis(op, axis, a.ndim()));
  if (indices.ndim() != a.ndim()) {
    fail(ErrorCode::InvalidArgument, "[{}] Indices of shape {} for an array of shape {}.", op,
         to_string(indices.shape()), to_string(a.shape()));
  }
  Shape shape = a.shape();
  shape[at] = indices.shape()[at];
  if (!(broadcast_shapes(op, indices.shape(), shape) == shape) ||
      !(broadcast_shapes(op, values.shape(), shape) == shape)) {
    fail(ErrorCode::InvalidArgument,
         "[{}] Indices of shape {} and values of shape {} do not fit an array of shape {}.", op,
         to_string(indices.shape()), to_string(values.shape()), to_string(a.shape()));
  }
  const array typed = astype(values, a.dtype());
  return make(new_primitive<ScatterAxis>(static_cast<int>(at), mode), a.dtype(), a.shape(),
              {&a, &indices, &typed});
}

}  // namespace

array put_along_axis(const array& a, const array& indices, const array& values,
                     std::optional<int> axis) {
  if (!axis) {
    const array put = put_axis("put_along_axis", flatten(a), flatten(indices), flatten(values), 0,
                               UpdateMode::None);
    return reshape(put, a.shape());
  }
  return put_axis("put_along_axis", a, indices, values, *axis, UpdateMode::None);
}

array scatter_add_axis(const array& a, const array& indices, const array& values, int axis) {
  return put_axis("scatter_add_axis", a, indices, values, axis, UpdateMode::Add);
}

array scatter(const array& a, const std::vector<array>& indices, const array& updates,
              const std::vector<int>& axes, UpdateMode mode) {
  std::vector<int> normal = axes;
  const Shape places = check_block_indices("scatter", a, indices, normal);
  const bool has_rank = updates.ndim() == places.size() + a.ndim();
  bool fits = has_rank && std::equal(places.begin(), places.end(), updates.shape().begin());
  for (size_t i = 0; fits && i < a.ndim(); ++i) {
    fits = updates.shape()[places.size() + i] <= a.shape()[i];
  }
  if (!fits) {
    fail(ErrorCode::InvalidArgument,
         "[scatter] Updates of shape {} for indices of shape {} into an array of shape {}.",
         to_string(updates.shape()), to_string(places), to_string(a.shape()));
  }
  std::vector<array> inputs = {a, astype(updates, a.dtype())};
  inputs.insert(inputs.end(), indices.begin(), indices.end());
  return make(new_primitive<Scatter>(std::move(normal), mode), a.dtype(), a.shape(),
              std::span<const array>(inputs));
}

array slice_update(const array& a, const array& update, Shape start, Shape stop, Shape strides,
                   UpdateMode mode) {
  SliceBounds bounds = slice_bounds("slice_update", a.shape(), start, stop, strides);
  if (!(broadcast_shapes("slice_update", update.shape(), bounds.shape) == bounds.shape)) {
    fail(ErrorCode::InvalidArgument,
         "[slice_update] An update of shape {} does not fill a slice of shape {}.",
         to_string(update.shape()), to_string(bounds.shape));
  }
  const array typed = astype(update, a.dtype());
  return make(new_primitive<SliceUpdate>(std::move(bounds), mode), a.dtype(), a.shape(),
              {&a, &typed});
}

array slice_update(const array& a, const array& update, const Shape& start, const Shape& stop) {
  return slice_update(a, update, start, stop, Shape(a.ndim(), 1));
}

array slice_update(const array& a, const array& update, const array& start,
                   const std::vector<int>& axes) {
  Shape shape = a.shape();
  for (size_t i = 0; i < shape.size(); ++i) {
    // Axes that are not named are full; the named ones have the update's size.
    const size_t behind = shape.size() - i;
    if (behind > update.ndim()) {
      shape[i] = 1;
    } else {
      shape[i] = update.shape()[update.ndim() - behind];
    }
  }
  check_dynamic("slice_update", a.shape(), start, axes, shape);
  std::vector<int> normal;
  normal.reserve(axes.size());
  for (const int axis : axes) normal.push_back(normal_axis("slice_update", axis, a.ndim()));
  const array typed = reshape(astype(update, a.dtype()), shape);
  return make(new_primitive<DynamicSliceUpdate>(std::move(normal)), a.dtype(), a.shape(),
              {&a, &typed, &start});
}

array masked_scatter(const array& a, const array& mask, const array& values) {
  if (mask.dtype() != bool_) {
    fail(ErrorCode::InvalidArgument, "[masked_scatter] A mask is bool, not {}.",
         to_string(mask.dtype()));
  }
  if (mask.ndim() > a.ndim() ||
      !std::equal(mask.shape().begin(), mask.shape().end(), a.shape().begin())) {
    fail(ErrorCode::InvalidArgument,
         "[masked_scatter] A mask of shape {} is not the beginning of the shape {}.",
         to_string(mask.shape()), to_string(a.shape()));
  }
  // One value for each position of the mask, or one row of values for each selected position.
  Shape row(a.shape().begin() + mask.ndim(), a.shape().end());
  Shape mask_shape = mask.shape();
  mask_shape.resize(a.ndim(), 1);
  array typed = astype(values, a.dtype());
  if (values.ndim() <= row.size()) {
    row.insert(row.begin(), mask.size());
    typed = broadcast_to(typed, row);
  } else if (values.ndim() != row.size() + 1 ||
             !std::equal(row.begin(), row.end(), values.shape().begin() + 1)) {
    fail(ErrorCode::InvalidArgument,
         "[masked_scatter] Values of shape {} do not fit a mask of shape {} over {}.",
         to_string(values.shape()), to_string(mask.shape()), to_string(a.shape()));
  }
  const array whole = broadcast_to(reshape(mask, mask_shape), a.shape());
  return make(shared_primitive<MaskedScatter>(), a.dtype(), a.shape(), {&a, &whole, &typed});
}

}  // namespace pippin::mx
