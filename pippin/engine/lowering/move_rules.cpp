// Operations that rearrange elements: reversal, sliding windows, bands.
#include <algorithm>
#include <cstring>

#include "pippin/base/error.h"
#include "pippin/engine/lowering/axes.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {
namespace {

using mil::Dim;

void reverse(Builder& builder, const mil::Operation& operation) {
  View x = builder.view(operation, "x");
  for (const int64_t axis : axes_param(builder, operation, x.rank())) {
    const auto i = static_cast<size_t>(axis);
    x.offset = x.offset + (x.shape[i] - Dim(1)) * x.strides[i];
    x.strides[i] = Dim(0) - x.strides[i];
  }
  builder.define_output(operation, x);
}

// Windows overlap: a copy, so that no two elements of a value share memory.
void sliding_windows(Builder& builder, const mil::Operation& operation) {
  View x = builder.view(operation, "x");
  const int64_t axis = normalize_axis(int_param(builder, operation, "axis"), x.rank());
  const auto i = static_cast<size_t>(axis);
  x.shape = builder.info(operation.output()).shape;
  const Dim apart = x.strides[i];
  x.strides[i] = apart * Dim(int_param(builder, operation, "stride"));
  x.strides.insert(x.strides.begin() + axis + 1, apart);
  const View y = builder.allocate(x.storage, x.shape);
  builder.emit_copy(y, x);
  builder.define_output(operation, y);
}

void band_part(Builder& builder, const mil::Operation& operation) {
  const Storage storage = run_storage(builder.info(operation.output()).type);
  const View x = builder.contiguous(builder.view_as(builder.view(operation, "x"), storage));
  const View y = builder.allocate(storage, x.shape);
  const auto matrices = [&](const View& view) {
    const int64_t axis = view.rank() - 2;
    return *reshape_view(
        view, {axes_product(view.shape, 0, axis), *(view.shape.end() - 2), view.shape.back()});
  };
  builder.emit(
      BandNode{int_param(builder, operation, "lower"), int_param(builder, operation, "upper")},
      {matrices(y), matrices(x)});
  builder.define_output(operation, y);
}

void reverse_sequence(Builder& builder, const mil::Operation& operation) {
  const View x = builder.view(operation, "x");
  const int64_t sequence = normalize_axis(int_param(builder, operation, "seq_axis"), x.rank());
  const int64_t batch = normalize_axis(int_param(builder, operation, "batch_axis"), x.rank());
  std::vector<int64_t> perm = {batch, sequence};
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (i != batch && i != sequence) perm.push_back(i);
  }
  const View from = builder.contiguous(transpose_view(x, perm));
  const View y = builder.allocate(x.storage, from.shape);
  const mil::Shape shape = {from.shape[0], from.shape[1], axes_product(from.shape, 2, x.rank())};
  builder.emit(
      ReverseSequenceNode{builder.where(operation)},
      {*reshape_view(y, shape), *reshape_view(from, shape), builder.ints(operation, "lengths")});
  builder.define_output(operation, transpose_view(y, inverse(perm)));
}

}  // namespace

void add_move_rules(Rules& rules) {
  rules["band_part"] = band_part;
  rules["reverse"] = reverse;
  rules["reverse_sequence"] = reverse_sequence;
  rules["sliding_windows"] = sliding_windows;
}

}  // namespace pippin::engine
