#include "pippin/mx/record/record_indexed.h"

#include <algorithm>

#include "pippin/mx/core/primitive.h"

namespace pippin::mx {
namespace {

// A permutation with the indexed axes first, and its inverse.
struct Order {
  std::vector<int64_t> front, back;
};
Order order_of(size_t rank, const std::vector<int>& axes) {
  Order order;
  order.front.assign(axes.begin(), axes.end());
  for (size_t axis = 0; axis < rank; ++axis) {
    if (std::find(axes.begin(), axes.end(), static_cast<int>(axis)) == axes.end()) {
      order.front.push_back(static_cast<int64_t>(axis));
    }
  }
  order.back.resize(rank);
  for (size_t i = 0; i < rank; ++i) {
    order.back[static_cast<size_t>(order.front[i])] = static_cast<int64_t>(i);
  }
  return order;
}

// The index arrays as coordinates, [positions ..., axes].
Recorder::Value coordinates(Recorder& recorder, const Node& out, size_t first,
                            const std::vector<int>& axes, const mil::Shape& whole,
                            const mil::Shape& places) {
  std::vector<Recorder::Value> all;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto index = recorder.indices(out, first + i, whole[static_cast<size_t>(axes[i])]);
    const auto spread = recorder.broadcast(index, places);
    all.push_back(pippin::array::expand_dims(spread, {static_cast<int64_t>(places.size())}));
  }
  return all.size() == 1 ? all[0] : pippin::array::concat(all, static_cast<int64_t>(places.size()));
}

// Whether slices have one element on the indexed axes and all elements of the others.
void check_slices(Recorder& recorder, const Node& out, const std::vector<int>& axes,
                  size_t first_of_slice, bool in_updates) {
  const bool is_plain = recorder.always(out, [&](const Node& node) {
    const Shape& sizes = in_updates ? node.inputs[1]->shape : node.shape;
    const Shape& whole = node.inputs[0]->shape;
    for (size_t axis = 0; axis < whole.size(); ++axis) {
      const bool is_indexed =
          std::find(axes.begin(), axes.end(), static_cast<int>(axis)) != axes.end();
      if (sizes[first_of_slice + axis] != (is_indexed ? 1 : whole[axis])) return false;
    }
    return true;
  });
  if (!is_plain) refuse_record(out.primitive->name(), "of parts of slices ");
}

const char* mode_name(UpdateMode mode) {
  switch (mode) {
    case UpdateMode::Add:
      return "add";
    case UpdateMode::Multiply:
      return "mul";
    case UpdateMode::Maximum:
      return "max";
    case UpdateMode::Minimum:
      return "min";
    default:
      return "update";
  }
}

// MIL's scatter supports only numbers.
Recorder::Value as_numbers(const Recorder::Value& value) {
  return value.type() == mil::DataType::Bool ? pippin::array::cast(value, mil::DataType::Int32)
                                             : value;
}

mil::Shape joined(const mil::Shape& a, const mil::Shape& b) {
  mil::Shape result = a;
  result.insert(result.end(), b.begin(), b.end());
  return result;
}

}  // namespace

Recorder::Value combined(UpdateMode mode, const Recorder::Value& old, const Recorder::Value& more) {
  switch (mode) {
    case UpdateMode::Add:
      return pippin::array::add(old, more);
    case UpdateMode::Multiply:
      return pippin::array::multiply(old, more);
    case UpdateMode::Maximum:
      return pippin::array::maximum(old, more);
    case UpdateMode::Minimum:
      return pippin::array::minimum(old, more);
    default:
      return more;
  }
}

void record_gather(Recorder& recorder, const Node& out, const std::vector<int>& axes,
                   const Shape& slice_sizes) {
  const Recorder::Value& x = recorder.input(out, 0);
  const size_t places_rank = out.shape.size() - slice_sizes.size();
  check_slices(recorder, out, axes, places_rank, false);
  const mil::Shape shape = recorder.shape(out);
  const mil::Shape places(shape.begin(), shape.begin() + static_cast<int64_t>(places_rank));
  const auto turned = pippin::array::transpose(x, order_of(slice_sizes.size(), axes).front);
  const auto at = coordinates(recorder, out, 1, axes, x.shape(), places);
  recorder.define_reshaped(out, Recorder::one("gather_nd", {{"x", turned}, {"indices", at}}));
}

void record_scatter(Recorder& recorder, const Node& out, const std::vector<int>& axes,
                    UpdateMode mode) {
  const Recorder::Value x = as_numbers(recorder.input(out, 0));
  const Recorder::Value updates = as_numbers(recorder.input(out, 1));
  const size_t rank = out.shape.size();
  const auto places_rank = static_cast<int64_t>(out.inputs[1]->shape.size() - rank);
  check_slices(recorder, out, axes, static_cast<size_t>(places_rank), true);
  const mil::Shape places(updates.shape().begin(), updates.shape().begin() + places_rank);
  const Order order = order_of(rank, axes);
  const auto turned = pippin::array::transpose(x, order.front);
  const mil::Shape rest(turned.shape().begin() + static_cast<int64_t>(axes.size()),
                        turned.shape().end());
  const auto result = Recorder::one(
      "scatter_nd", {{"data", turned},
                     {"indices", coordinates(recorder, out, 2, axes, x.shape(), places)},
                     {"updates", recorder.reshaped(updates, joined(places, rest))},
                     {"mode", mode_name(mode)}});
  recorder.define(out, pippin::array::transpose(result, order.back));
}

void record_scatter_axis(Recorder& recorder, const Node& out, size_t axis, UpdateMode mode) {
  const Recorder::Value x = as_numbers(recorder.input(out, 0));
  const auto indices = recorder.indices(out, 1, x.shape()[axis]);
  mil::Shape shape = x.shape();
  shape[axis] = indices.shape()[axis];
  recorder.define(
      out,
      Recorder::one("scatter_along_axis",
                    {{"data", x},
                     {"indices", recorder.broadcast(indices, shape)},
                     {"updates", recorder.broadcast(as_numbers(recorder.input(out, 2)), shape)},
                     {"axis", static_cast<int64_t>(axis)},
                     {"mode", mode_name(mode)}}));
}

}  // namespace pippin::mx
