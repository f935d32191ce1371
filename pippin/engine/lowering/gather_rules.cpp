// gather and scatter: embeddings, table look-ups, writes at places that indices name.
#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/engine/lowering/axes.h"
#include "pippin/engine/lowering/rules.h"
#include "pippin/engine/weights/quantized_weight.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Shape;

bool validates(const Builder& builder, const mil::Operation& operation) {
  return operation.find_input("validate_indices") != nullptr &&
         bool_param(builder, operation, "validate_indices");
}

Places places_of(const Builder& builder, const mil::Operation& operation) {
  Places places{operation.type(), builder.where(operation)};
  const bool old = builder.opset() < mil::Opset::CoreML7;
  places.refuse = old || validates(builder, operation);
  places.from_end = old || !places.refuse;
  return places;
}

// A table's slices, the indices that name them, and the axes that they index.
struct Lookup {
  View table, indices;           // as GatherNode has them
  std::vector<Dim> coordinates;  // sizes, then strides

  // The indices and the slices in the shape of the lookup: [A, B, C, ...] of [D...] with strides.
  static View places(View view, const Shape& shape, const Shape& strides) {
    view.shape = shape;
    view.strides = strides;
    return view;
  }
};

// x [batch..., between..., size, inner...] at indices [batch..., count...] along `axis`.
Lookup along_axis(Builder& builder, const View& x, const View& given, int64_t axis,
                  int64_t batch_dims) {
  const View indices = builder.contiguous(given);
  const Dim batch = axes_product(x.shape, 0, batch_dims),
            between = axes_product(x.shape, batch_dims, axis);
  const Dim& size = x.shape[static_cast<size_t>(axis)];
  const Dim inner = axes_product(x.shape, axis + 1, x.rank());
  const Dim count = axes_product(indices.shape, batch_dims, indices.rank());
  const View wide = reshaped(builder, x, {batch, between, size, inner});
  Lookup lookup;
  lookup.table = Lookup::places(wide, {batch, between, count, inner},
                                {wide.strides[0], wide.strides[1], Dim(0), wide.strides[3]});
  lookup.indices =
      Lookup::places(indices, {batch, between, count, Dim(1)}, {count, Dim(0), Dim(1), Dim(1)});
  lookup.coordinates = {size, wide.strides[2]};
  return lookup;
}

// x [outer..., size, inner...] at indices [outer..., count, inner...]: one for every element.
Lookup element_by_element(Builder& builder, const View& x, const View& given, int64_t axis) {
  const View indices = builder.contiguous(given);
  const auto a = static_cast<size_t>(axis);
  const Dim outer = axes_product(x.shape, 0, axis),
            inner = axes_product(x.shape, axis + 1, x.rank());
  const Dim &size = x.shape[a], &count = indices.shape[a];
  const View wide = reshaped(builder, x, {outer, size, inner});
  Lookup lookup;
  lookup.table = Lookup::places(wide, {outer, count, inner, Dim(1)},
                                {wide.strides[0], Dim(0), wide.strides[2], Dim(1)});
  lookup.indices = Lookup::places(indices, {outer, count, inner, Dim(1)},
                                  {count * inner, inner, Dim(1), Dim(1)});
  lookup.coordinates = {size, wide.strides[1]};
  return lookup;
}

// x [batch..., sizes..., inner...] at indices [batch..., count..., coordinates].
Lookup by_coordinates(Builder& builder, const View& x, const View& given, int64_t batch_dims) {
  const View indices = builder.contiguous(given);
  const int64_t coordinates = indices.shape.back().constant();
  const int64_t first_inner = batch_dims + coordinates;
  const Dim batch = axes_product(x.shape, 0, batch_dims),
            inner = axes_product(x.shape, first_inner, x.rank());
  const Dim count = axes_product(indices.shape, batch_dims, indices.rank() - 1);
  Shape shape(x.shape.begin() + batch_dims, x.shape.begin() + first_inner);
  shape.insert(shape.begin(), batch);
  shape.push_back(inner);
  const View wide = reshaped(builder, x, shape);
  Lookup lookup;
  lookup.table = Lookup::places(wide, {batch, Dim(1), count, inner},
                                {wide.strides.front(), Dim(0), Dim(0), wide.strides.back()});
  lookup.indices = Lookup::places(indices, {batch, Dim(1), count, Dim(coordinates)},
                                  {count * Dim(coordinates), Dim(0), Dim(coordinates), Dim(1)});
  lookup.coordinates.assign(shape.begin() + 1, shape.end() - 1);
  lookup.coordinates.insert(lookup.coordinates.end(), wide.strides.begin() + 1,
                            wide.strides.end() - 1);
  return lookup;
}

int64_t batch_dims_of(const Builder& builder, const mil::Operation& operation) {
  if (operation.find_input("batch_dims") == nullptr) return 0;
  return int_param(builder, operation, "batch_dims");
}

int64_t axis_of(const Builder& builder, const mil::Operation& operation, std::string_view of) {
  return normalize_axis(int_param(builder, operation, "axis"),
                        static_cast<int64_t>(builder.shape(operation, of).size()));
}

// Emits the result of a gather.
void read(Builder& builder, const mil::Operation& operation, const Lookup& lookup) {
  const mil::ValueInfo& output = builder.info(operation.output());
  const View y = builder.allocate(run_storage(output.type), lookup.table.shape);
  builder.emit(GatherNode{places_of(builder, operation)}, {y, lookup.table, lookup.indices})
      .scalars = lookup.coordinates;
  builder.define_output(operation, *reshape_view(y, output.shape));
}

void gather(Builder& builder, const mil::Operation& operation) {
  const View indices = builder.ints(operation, "indices");
  const int64_t axis = axis_of(builder, operation, "x");
  const int64_t batch_dims = normalize_axis(batch_dims_of(builder, operation), indices.rank());
  const Shape x_shape = builder.shape(operation, "x");
  if (const auto quantized = builder.quantized(operation, "x");
      quantized != nullptr && axis == 0 && x_shape[0] == Dim(quantized->matrix.n) &&
      !validates(builder, operation)) {
    // Only the requested rows are expanded; an index outside reads the nearest row.
    const View flat =
        *reshape_view(builder.contiguous(indices), {mil::num_elements(indices.shape)});
    const View y = builder.allocate(Storage::F32, {flat.shape[0], Dim(quantized->matrix.k)});
    builder.emit(QuantizedGatherNode{quantized, quantized->form}, {y, flat});
    builder.define_output(operation, *reshape_view(y, builder.info(operation.output()).shape));
    return;
  }
  read(builder, operation,
       along_axis(builder, builder.view(operation, "x"), indices, axis, batch_dims));
}

void gather_along_axis(Builder& builder, const mil::Operation& operation) {
  read(builder, operation,
       element_by_element(builder, builder.view(operation, "x"), builder.ints(operation, "indices"),
                          axis_of(builder, operation, "x")));
}

void gather_nd(Builder& builder, const mil::Operation& operation) {
  read(builder, operation,
       by_coordinates(builder, builder.view(operation, "x"), builder.ints(operation, "indices"),
                      batch_dims_of(builder, operation)));
}

Combine combine_of(const Builder& builder, const mil::Operation& operation, Storage storage) {
  const std::string mode = string_param(builder, operation, "mode");
  if (mode == "update") return Combine::Update;
  if (mode == "add") return Combine::Add;
  if (mode == "sub") return Combine::Sub;
  if (mode == "mul") return Combine::Mul;
  if (mode == "max") return Combine::Max;
  if (mode == "min") return Combine::Min;
  // Quotients of integers are rounded only at the end.
  if (mode == "div" && storage == Storage::F32) return Combine::Div;
  fail(ErrorCode::Unsupported, "{}: no kernel for mode \"{}\"", builder.where(operation), mode);
}

// A copy of the data with the updates at the places that `look_up(data, indices)` gives.
template <typename LookUp>
void scatter(Builder& builder, const mil::Operation& operation, const LookUp& look_up) {
  const mil::ValueInfo& output = builder.info(operation.output());
  const Storage storage = run_storage(output.type);
  const Combine combine = combine_of(builder, operation, storage);
  need_whole_integers(builder, operation);
  const View data = builder.view(operation, "data");
  const View updates =
      builder.contiguous(builder.view_as(builder.view(operation, "updates"), storage));
  const View indices = builder.ints(operation, "indices");
  const View out = builder.allocate(storage, output.shape);
  builder.emit_copy(out, data);
  const Lookup lookup = look_up(out, indices);
  builder
      .emit(ScatterNode{places_of(builder, operation), combine},
            {lookup.table, *reshape_view(updates, lookup.table.shape), lookup.indices})
      .scalars = lookup.coordinates;
  builder.define_output(operation, out);
}

void scatter_slices(Builder& builder, const mil::Operation& operation) {
  const int64_t axis = axis_of(builder, operation, "data");
  scatter(builder, operation, [&](const View& data, const View& indices) {
    Lookup lookup = along_axis(builder, data, indices, axis, 0);
    // The axes before `axis` separately: threads share them.
    std::swap(lookup.table.shape[0], lookup.table.shape[1]);
    std::swap(lookup.table.strides[0], lookup.table.strides[1]);
    std::swap(lookup.indices.shape[0], lookup.indices.shape[1]);
    std::swap(lookup.indices.strides[0], lookup.indices.strides[1]);
    return lookup;
  });
}

void scatter_along_axis(Builder& builder, const mil::Operation& operation) {
  const int64_t axis = axis_of(builder, operation, "data");
  scatter(builder, operation, [&](const View& data, const View& indices) {
    return element_by_element(builder, data, indices, axis);
  });
}

void scatter_nd(Builder& builder, const mil::Operation& operation) {
  scatter(builder, operation, [&](const View& data, const View& indices) {
    return by_coordinates(builder, data, indices, 0);
  });
}

}  // namespace

void add_gather_rules(Rules& rules) {
  rules["gather"] = gather;
  rules["gather_along_axis"] = gather_along_axis;
  rules["gather_nd"] = gather_nd;
  rules["scatter"] = scatter_slices;
  rules["scatter_along_axis"] = scatter_along_axis;
  rules["scatter_nd"] = scatter_nd;
}

}  // namespace pippin::engine
