// Operations that only move elements: most are views.
#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/engine/lowering/planes.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Shape;

// The same elements in the inferred shape.
void reshaped(Builder& builder, const mil::Operation& operation) {
  const View x = builder.view(operation, "x");
  const Shape& shape = builder.info(operation.output()).shape;
  if (auto view = reshape_view(x, shape)) {
    builder.define_output(operation, *view);
  } else {
    builder.define_output(operation, *reshape_view(builder.contiguous(x), shape));
  }
}

void identity(Builder& builder, const mil::Operation& operation) {
  builder.define_output(operation, builder.view(operation, "x"));
}

void transpose(Builder& builder, const mil::Operation& operation) {
  const View x = builder.view(operation, "x");
  std::vector<int64_t> perm = ints_param(builder, operation, "perm");
  for (int64_t& axis : perm) axis = normalize_axis(axis, x.rank());
  builder.define_output(operation, transpose_view(x, perm));
}

// The storage of a result whose inputs may be stored differently.
Storage output_storage(const Builder& builder, const mil::Operation& operation) {
  return run_storage(builder.info(operation.output()).type);
}

// The part [begin, begin + size) of an axis.
View slice_axis(const View& view, int64_t axis, const Dim& begin, const Dim& size) {
  View part = view;
  const auto i = static_cast<size_t>(axis);
  part.offset = part.offset + begin * part.strides[i];
  part.shape[i] = size;
  return part;
}

void concat(Builder& builder, const mil::Operation& operation) {
  const Shape& shape = builder.info(operation.output()).shape;
  const int64_t rank = static_cast<int64_t>(shape.size());
  const int64_t axis = normalize_axis(int_param(builder, operation, "axis"), rank);
  const mil::Argument& values = operation.inputs().at("values");
  const bool interleave =
      operation.find_input("interleave") != nullptr && bool_param(builder, operation, "interleave");
  const Storage storage = output_storage(builder, operation);
  // Maps keep their layout if it is the same for all inputs.
  bool maps = storage == Storage::F32 && rank > 3 && !(shape[2] == Dim(1));
  for (const auto& value : values) maps = maps && has_channels_last(builder.view(value));
  const View out = maps ? allocate_channels_last(builder, shape) : builder.allocate(storage, shape);
  Dim begin = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    View value = builder.view(values[i]);
    if (value.rank() == 0) value = *reshape_view(value, {Dim(1)});
    const auto a = static_cast<size_t>(axis);
    View part;
    if (interleave) {  // element j of input i goes to j * inputs + i
      part = slice_axis(out, axis, Dim(static_cast<int64_t>(i)), value.shape[a]);
      part.strides[a] = out.strides[a] * Dim(static_cast<int64_t>(values.size()));
    } else {
      part = slice_axis(out, axis, begin, value.shape[a]);
      begin = begin + value.shape[a];
    }
    builder.emit_copy(part, value);
  }
  builder.define_output(operation, out);
}

void stack(Builder& builder, const mil::Operation& operation) {
  const Shape& shape = builder.info(operation.output()).shape;
  const int64_t axis =
      normalize_axis(int_param(builder, operation, "axis"), static_cast<int64_t>(shape.size()));
  const mil::Argument& values = operation.inputs().at("values");
  View out = builder.allocate(output_storage(builder, operation), shape);
  for (size_t i = 0; i < values.size(); ++i) {
    View part = slice_axis(out, axis, Dim(static_cast<int64_t>(i)), Dim(1));
    part.shape.erase(part.shape.begin() + axis);
    part.strides.erase(part.strides.begin() + axis);
    builder.emit_copy(part, builder.view(values[i]));
  }
  builder.define_output(operation, out);
}

void split(Builder& builder, const mil::Operation& operation) {
  const View x = builder.view(operation, "x");
  const int64_t axis = normalize_axis(int_param(builder, operation, "axis"), x.rank());
  Dim begin = 0;
  for (const auto& output : operation.outputs()) {
    const Dim& size = builder.info(output.get()).shape[static_cast<size_t>(axis)];
    builder.define(output.get(), slice_axis(x, axis, begin, size));
    begin = begin + size;
  }
}

void tile(Builder& builder, const mil::Operation& operation) {
  const View x = builder.view(operation, "x");
  const Shape& shape = builder.info(operation.output()).shape;
  bool repeats_ones_only = true;
  for (size_t i = 0; i < shape.size(); ++i) {
    repeats_ones_only = repeats_ones_only && (x.shape[i] == shape[i] || x.shape[i] == Dim(1));
  }
  if (repeats_ones_only) {
    builder.define_output(operation, broadcast_view(x, shape));
    return;
  }
  // [r * d] is [r, d] with the input repeated along r.
  View out = builder.allocate(x.storage, shape);
  Shape wide, from_strides;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!(x.shape[i] == shape[i])) {
      wide.push_back(floor_div(shape[i], x.shape[i]));
      from_strides.emplace_back(0);
    }
    wide.push_back(x.shape[i]);
    from_strides.push_back(x.strides[i]);
  }
  View from = x;
  from.shape = wide;
  from.strides = from_strides;
  View to = out;
  to.shape = wide;
  to.strides = contiguous_strides(wide);
  builder.emit_copy(to, from);
  builder.define_output(operation, out);
}

void fill(Builder& builder, const mil::Operation& operation) {
  const mil::ValueInfo& output = builder.info(operation.output());
  const Storage storage = run_storage(output.type);
  View value;
  if (operation.find_input("value") != nullptr) {
    value = builder.view_as(builder.view(operation, "value"), storage);
  } else {
    value = builder.constant(storage, {}, std::vector<std::byte>(4));
  }
  View out = builder.allocate(storage, output.shape);
  emit_fill(builder, out, value);
  builder.define_output(operation, out);
}

void range_1d(Builder& builder, const mil::Operation& operation) {
  const mil::ValueInfo& output = builder.info(operation.output());
  const Storage storage = run_storage(output.type);
  const View start = builder.view_as(builder.view(operation, "start"), storage);
  const View step = builder.view_as(builder.view(operation, "step"), storage);
  View out = builder.allocate(storage, output.shape);
  builder.emit(RangeNode{}, {out, start, step});
  builder.define_output(operation, out);
}

}  // namespace

void emit_fill(Builder& builder, const View& out, const View& value) {
  builder.emit(FillNode{}, {out, value});
}

void add_shape_rules(Rules& rules) {
  rules["reshape"] = reshaped;
  rules["expand_dims"] = reshaped;
  rules["flatten2d"] = reshaped;
  rules["reshape_like"] = reshaped;
  rules["squeeze"] = reshaped;
  rules["identity"] = identity;
  rules["transpose"] = transpose;
  rules["concat"] = concat;
  rules["stack"] = stack;
  rules["split"] = split;
  rules["tile"] = tile;
  rules["fill"] = fill;
  rules["fill_like"] = fill;
  rules["range_1d"] = range_1d;
}

}  // namespace pippin::engine
