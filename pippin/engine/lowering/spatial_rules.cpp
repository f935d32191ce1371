// Pixels to channels or batches and back; cropping.
#include "pippin/engine/lowering/axes.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Shape;

// x in the shape `split`, its axes in the order `perm`, as the result.
void rearranged(Builder& builder, const mil::Operation& operation, const Shape& split,
                const std::vector<int64_t>& perm) {
  const View moved = transpose_view(reshaped(builder, builder.view(operation, "x"), split), perm);
  builder.define_output(operation,
                        reshaped(builder, moved, builder.info(operation.output()).shape));
}

template <bool pixel>
void to_space(Builder& builder, const mil::Operation& operation) {
  const Shape& shape = builder.info(operation.output()).shape;
  const Shape x = builder.shape(operation, "x");
  const Dim b = int_param(builder, operation, pixel ? "upscale_factor" : "block_size");
  if (pixel) {
    rearranged(builder, operation, {x[0], shape[1], b, b, x[2], x[3]}, {0, 1, 4, 2, 5, 3});
  } else {
    rearranged(builder, operation, {x[0], b, b, shape[1], x[2], x[3]}, {0, 3, 4, 1, 5, 2});
  }
}

template <bool pixel>
void to_depth(Builder& builder, const mil::Operation& operation) {
  const Shape& shape = builder.info(operation.output()).shape;
  const Dim b = int_param(builder, operation, pixel ? "downscale_factor" : "block_size");
  const Dim channels = builder.shape(operation, "x")[1];
  rearranged(
      builder, operation, {shape[0], channels, shape[2], b, shape[3], b},
      pixel ? std::vector<int64_t>{0, 1, 3, 5, 2, 4} : std::vector<int64_t>{0, 3, 5, 1, 2, 4});
}

void crop(Builder& builder, const mil::Operation& operation) {
  View x = builder.view(operation, "x");
  const Shape& shape = builder.info(operation.output()).shape;
  const size_t axis = shape.size() - 2;
  const Dim above = ints_param(builder, operation, "crop_height").at(0);
  const Dim left = ints_param(builder, operation, "crop_width").at(0);
  x.offset = x.offset + above * x.strides[axis] + left * x.strides[axis + 1];
  x.shape = shape;
  builder.define_output(operation, x);
}

// The part of [N, C, height, width] without the `amounts` that are cut off before and after both
// axes.
View cut(const View& view, const Shape& shape, const std::vector<int64_t>& amounts) {
  View part = view;
  part.shape = shape;
  part.offset =
      part.offset + Dim(amounts.at(0)) * part.strides[2] + Dim(amounts.at(2)) * part.strides[3];
  return part;
}

void space_to_batch(Builder& builder, const mil::Operation& operation) {
  const std::vector<int64_t> blocks = ints_param(builder, operation, "block_shape");
  const std::vector<int64_t> pads = ints_param(builder, operation, "paddings");
  const View x = builder.view(operation, "x");
  const Shape& shape = builder.info(operation.output()).shape;
  const Dim b = blocks.at(0), d = blocks.at(1), h = shape[2], w = shape[3];
  const Storage storage = run_storage(builder.info(operation.output()).type);
  const View padded = builder.allocate(storage, {x.shape[0], x.shape[1], h * b, w * d});
  emit_fill(builder, padded,
            builder.constant(storage, {}, std::vector<std::byte>(4)));  // 0 of any type
  builder.emit_copy(cut(padded, x.shape, pads), x);
  const View split = *reshape_view(padded, {x.shape[0], x.shape[1], h, b, w, d});
  builder.define_output(operation,
                        reshaped(builder, transpose_view(split, {3, 5, 0, 1, 2, 4}), shape));
}

void batch_to_space(Builder& builder, const mil::Operation& operation) {
  const std::vector<int64_t> blocks = ints_param(builder, operation, "block_shape");
  const std::vector<int64_t> crops = ints_param(builder, operation, "crops");
  const View x = builder.view(operation, "x");
  const Shape& shape = builder.info(operation.output()).shape;
  const Dim b = blocks.at(0), d = blocks.at(1), n = shape[0], c = shape[1];
  const Dim h = x.shape[2], w = x.shape[3];
  const View split = reshaped(builder, x, {b, d, n, c, h, w});
  const View whole =
      reshaped(builder, transpose_view(split, {2, 3, 4, 0, 5, 1}), {n, c, h * b, w * d});
  builder.define_output(operation, cut(whole, shape, crops));
}

}  // namespace

void add_spatial_rules(Rules& rules) {
  rules["batch_to_space"] = batch_to_space;
  rules["crop"] = crop;
  rules["depth_to_space"] = to_space<false>;
  rules["pixel_shuffle"] = to_space<true>;
  rules["pixel_unshuffle"] = to_depth<true>;
  rules["space_to_batch"] = space_to_batch;
  rules["space_to_depth"] = to_depth<false>;
}

}  // namespace pippin::engine
