// Blocks of pixels to channels or batches and back; cropping.
#include <algorithm>

#include <fmt/ranges.h>

#include "pippin/mil/ops/families.h"
#include "pippin/mil/ops/rules.h"

namespace pippin::mil {
namespace {

int64_t block_of(const OpContext& context, std::string_view parameter) {
  const int64_t block = context.int_param(parameter);
  if (block < 1 || block > INT32_MAX) context.reject("{} is {}", parameter, block);
  return block;
}

Dim divided(InferContext& context, const Dim& size, int64_t by) {
  Dim quotient = floor_div(size, Dim(by));
  context.require_equal(quotient * Dim(by), size, "blocks make up the axis");
  return quotient;
}

void need_rank_4(const OpContext& context, size_t rank) {
  if (rank != 4) context.reject("x must have rank 4, not {}", rank);
}

// Channels to pixels: [N, C * b * b, H, W] to [N, C, H * b, W * b].
constexpr std::string_view kUpFactors[] = {"block_size", "upscale_factor"};
constexpr std::string_view kDownFactors[] = {"block_size", "downscale_factor"};

template <bool pixel>
Infos infer_to_space(InferContext& context) {
  const ValueInfo& x = context.input("x");
  need_rank_4(context, x.shape.size());
  const int64_t b = block_of(context, kUpFactors[pixel]);
  return one(tensor_info(x.type, {x.shape[0], divided(context, x.shape[1], b * b),
                                  x.shape[2] * Dim(b), x.shape[3] * Dim(b)}));
}

template <bool pixel>
Tensors evaluate_to_space(EvalContext& context) {
  const Tensor& x = context.input("x");
  const int64_t b = block_of(context, kUpFactors[pixel]);
  const int64_t n = x.shape[0], c = x.shape[1] / (b * b), h = x.shape[2], w = x.shape[3];
  // The position in the block is the inner part of the channel index (pixel_shuffle) or the outer
  // one.
  const Tensor blocks = pixel ? transposed(reshaped(x, {n, c, b, b, h, w}), {0, 1, 4, 2, 5, 3})
                              : transposed(reshaped(x, {n, b, b, c, h, w}), {0, 3, 4, 1, 5, 2});
  return one(reshaped(blocks, {n, c, h * b, w * b}));
}

template <bool pixel>
Infos infer_to_depth(InferContext& context) {
  const ValueInfo& x = context.input("x");
  need_rank_4(context, x.shape.size());
  const int64_t b = block_of(context, kDownFactors[pixel]);
  return one(
      tensor_info(x.type, {x.shape[0], x.shape[1] * Dim(b * b), divided(context, x.shape[2], b),
                           divided(context, x.shape[3], b)}));
}

template <bool pixel>
Tensors evaluate_to_depth(EvalContext& context) {
  const Tensor& x = context.input("x");
  const int64_t b = block_of(context, kDownFactors[pixel]);
  const int64_t n = x.shape[0], c = x.shape[1], h = x.shape[2] / b, w = x.shape[3] / b;
  const Tensor blocks = reshaped(x, {n, c, h, b, w, b});
  return one(reshaped(transposed(blocks, pixel ? Dims{0, 1, 3, 5, 2, 4} : Dims{0, 3, 5, 1, 2, 4}),
                      {n, c * b * b, h, w}));
}

// block_shape and the amounts before and after each of the two spatial axes.
struct Batching {
  Dims blocks, amounts;
};

Batching batching_of(const OpContext& context, std::string_view amounts, size_t rank) {
  need_rank_4(context, rank);
  Batching batching{context.ints_param("block_shape"), context.ints_param(amounts)};
  const auto in_range = [](const Dims& values, int64_t least) {
    return std::all_of(values.begin(), values.end(),
                       [&](int64_t v) { return v >= least && v <= INT32_MAX; });
  };
  if (batching.blocks.size() != 2 || batching.amounts.size() != 4 ||
      !in_range(batching.blocks, 1) || !in_range(batching.amounts, 0)) {
    context.reject("block_shape {}, {} {}", batching.blocks, amounts, batching.amounts);
  }
  return batching;
}

Infos infer_space_to_batch(InferContext& context) {
  const ValueInfo& x = context.input("x");
  const auto [blocks, pads] = batching_of(context, "paddings", x.shape.size());
  return one(
      tensor_info(x.type, {x.shape[0] * Dim(blocks[0] * blocks[1]), x.shape[1],
                           divided(context, x.shape[2] + Dim(pads[0] + pads[1]), blocks[0]),
                           divided(context, x.shape[3] + Dim(pads[2] + pads[3]), blocks[1])}));
}

Tensors evaluate_space_to_batch(EvalContext& context) {
  const Tensor& x = context.input("x");
  const auto [blocks, pads] = batching_of(context, "paddings", x.shape.size());
  const int64_t n = x.shape[0], c = x.shape[1], b = blocks[0], d = blocks[1];
  Tensor padded(x.type, {n, c, x.shape[2] + pads[0] + pads[1], x.shape[3] + pads[2] + pads[3]});
  const Dims strides = strides_of(padded.shape);
  size_t next = 0;
  const int64_t first = pads[0] * strides[2] + pads[2];
  for_each_index(x.shape, [&](const Dims& index) {
    const int64_t place = offset_of(index, strides) + first;
    padded.values[static_cast<size_t>(place)] = x.values[next++];
  });
  const int64_t h = padded.shape[2] / b, w = padded.shape[3] / d;
  return one(reshaped(transposed(reshaped(padded, {n, c, h, b, w, d}), {3, 5, 0, 1, 2, 4}),
                      {b * d * n, c, h, w}));
}

Infos infer_batch_to_space(InferContext& context) {
  const ValueInfo& x = context.input("x");
  const auto [blocks, crops] = batching_of(context, "crops", x.shape.size());
  const Dim height = x.shape[2] * Dim(blocks[0]) - Dim(crops[0] + crops[1]);
  const Dim width = x.shape[3] * Dim(blocks[1]) - Dim(crops[2] + crops[3]);
  context.require_at_least(height, Dim(0), "the remaining size");
  context.require_at_least(width, Dim(0), "the remaining size");
  return one(tensor_info(
      x.type, {divided(context, x.shape[0], blocks[0] * blocks[1]), x.shape[1], height, width}));
}

Tensor cropped(const Tensor& x, const Dims& amounts) {
  Dims shape = x.shape;
  const size_t rank = shape.size();
  shape[rank - 2] -= amounts[0] + amounts[1];
  shape[rank - 1] -= amounts[2] + amounts[3];
  const Dims strides = strides_of(x.shape);
  const int64_t start = amounts[0] * strides[rank - 2] + amounts[2];
  Tensor result(x.type, shape);
  size_t next = 0;
  for_each_index(shape, [&](const Dims& index) {
    result.values[next++] = x.values[static_cast<size_t>(start + offset_of(index, strides))];
  });
  return result;
}

Tensors evaluate_batch_to_space(EvalContext& context) {
  const Tensor& x = context.input("x");
  const auto [blocks, crops] = batching_of(context, "crops", x.shape.size());
  const int64_t b = blocks[0], d = blocks[1], n = x.shape[0] / (b * d), c = x.shape[1];
  const int64_t h = x.shape[2], w = x.shape[3];
  const Tensor whole = reshaped(transposed(reshaped(x, {b, d, n, c, h, w}), {2, 3, 4, 0, 5, 1}),
                                {n, c, h * b, w * d});
  return one(cropped(whole, crops));
}

Dims crop_amounts(const OpContext& context) {
  Dims amounts = context.ints_param("crop_height");
  const Dims width = context.ints_param("crop_width");
  amounts.insert(amounts.end(), width.begin(), width.end());
  const bool fits = width.size() == 2 && amounts.size() == 4 &&
                    std::all_of(amounts.begin(), amounts.end(),
                                [](int64_t v) { return v >= 0 && v <= INT32_MAX; });
  if (!fits) context.reject("amounts {}", amounts);
  return amounts;
}

Infos infer_crop(InferContext& context) {
  const ValueInfo& x = context.input("x");
  if (x.shape.size() < 3) context.reject("x must have rank 3 or more");
  const Dims amounts = crop_amounts(context);
  Shape shape = x.shape;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    Dim& size = shape[shape.size() - 2 + i];
    size = size - Dim(amounts[2 * i] + amounts[2 * i + 1]);
    context.require_at_least(size, Dim(0), "the remaining size");
  }
  return one(tensor_info(x.type, std::move(shape)));
}
Tensors evaluate_crop(EvalContext& context) {
  return one(cropped(context.input("x"), crop_amounts(context)));
}

}  // namespace

std::vector<OpDef> spatial_ops() {
  return {
      {"depth_to_space",
       Opset::CoreML5,
       {tensor("x", "f"), constant("block_size", "i")},
       infer_to_space<false>,
       evaluate_to_space<false>,
       "[N, b * b * C, H, W] to [N, C, H * b, W * b]: channel (i * b + j) * C + c is pixel (i, j) "
       "of each block."},
      {"pixel_shuffle",
       Opset::CoreML5,
       {tensor("x", "f"), constant("upscale_factor", "i")},
       infer_to_space<true>,
       evaluate_to_space<true>,
       "[N, C * b * b, H, W] to [N, C, H * b, W * b]: channel c * b * b + i * b + j is pixel (i, "
       "j) "
       "of each block."},
      {"space_to_depth",
       Opset::CoreML5,
       {tensor("x", "f"), constant("block_size", "i")},
       infer_to_depth<false>,
       evaluate_to_depth<false>,
       "The inverse of depth_to_space."},
      {"pixel_unshuffle",
       Opset::CoreML6,
       {tensor("x", "f"), constant("downscale_factor", "i")},
       infer_to_depth<true>,
       evaluate_to_depth<true>,
       "The inverse of pixel_shuffle."},
      {"space_to_batch",
       Opset::CoreML5,
       {tensor("x", "f"), constant("block_shape", "i"), constant("paddings", "i")},
       infer_space_to_batch,
       evaluate_space_to_batch,
       "Pads the two spatial axes with zeros and moves the pixels of each block to batches: the "
       "place in the block is the batch's outer part."},
      {"batch_to_space",
       Opset::CoreML5,
       {tensor("x", "f"), constant("block_shape", "i"), constant("crops", "i")},
       infer_batch_to_space,
       evaluate_batch_to_space,
       "The inverse of space_to_batch, with crops cut off the two spatial axes."},
      {"crop",
       Opset::CoreML5,
       {tensor("x", "f"), constant("crop_height", "i"), constant("crop_width", "i")},
       infer_crop,
       evaluate_crop,
       "x without crop_height elements at the start and end of its second last axis and "
       "crop_width of its last."},
  };
}

}  // namespace pippin::mil
