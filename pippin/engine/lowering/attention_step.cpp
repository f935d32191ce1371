#include "pippin/engine/lowering/attention_step.h"

#include "pippin/engine/lowering/rules.h"
#include "pippin/kernels/attention/args.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Shape;

constexpr int64_t kChunkNumbers = 2;  // of kernels::summarize_mask

// An existing node that computes the same from the same operands: masks are shared by layers.
template <typename Kind>
const View* made_before(Builder& builder, const View& from) {
  for (const Node& node : builder.nodes()) {
    if (node.as<Kind>() == nullptr) continue;
    const View& other = node.views[1];
    if (other.buffer == from.buffer && other.offset == from.offset && other.shape == from.shape &&
        other.strides == from.strides) {
      return &node.views[0];
    }
  }
  return nullptr;
}

// The mask's smallest and largest entries by chunks of keys, [batch, heads, rows, chunks, 2]; axes
// that the mask repeats are not stored repeatedly.
View mask_summary(Builder& builder, const View& mask) {
  View once = mask;
  for (size_t i = 0; i < 3; ++i) {
    if (once.strides[i] == Dim(0)) once.shape[i] = 1;
  }
  Shape shape(once.shape.begin(), once.shape.end() - 1);
  const Dim keys_of_chunk(kernels::kMaskChunk);
  shape.push_back(floor_div(once.shape[3] + keys_of_chunk - 1, keys_of_chunk));
  shape.emplace_back(kChunkNumbers);
  View summary;
  if (const View* known = made_before<MaskSummaryNode>(builder, once)) {
    summary = *known;
  } else {
    summary = builder.allocate(Storage::F32, shape);
    builder.emit(MaskSummaryNode{}, {summary, once});
  }
  for (size_t i = 0; i < 3; ++i) {
    if (!(mask.strides[i] == Dim(0))) continue;
    summary.shape[i] = mask.shape[i];
    summary.strides[i] = 0;
  }
  return summary;
}

// A cache in which the elements of a key are adjacent, or the keys of an element.
View readable(Builder& builder, const View& cache) {
  if (cache.shape[3] == Dim(1) || cache.strides[3] == Dim(1)) {
    View view = cache;
    view.strides[3] = 1;
    return view;
  }
  if (cache.strides[2] == Dim(1)) return cache;
  View copy = builder.allocate(cache.storage, cache.shape);
  builder.emit_copy(copy, cache);
  return copy;
}

}  // namespace

View additive_mask(Builder& builder, const View& view) {
  const View allowed = builder.contiguous(view);
  if (const View* known = made_before<AllowedNode>(builder, allowed)) return *known;
  View mask = builder.allocate(Storage::F32, allowed.shape);
  builder.emit(AllowedNode{}, {mask, allowed});
  return mask;
}

View emit_attention(Builder& builder, const AttentionViews& attention) {
  const View& q = attention.q;
  const View k = readable(builder, attention.k), v = readable(builder, attention.v);
  const View by_row =
      builder.allocate(Storage::F32, {q.shape[0], q.shape[2], q.shape[1], v.shape[3]});
  View out = transpose_view(by_row, {0, 2, 1, 3});
  std::vector<View> views = {out, q, k, v};
  if (attention.mask) {
    View mask = builder.view_as(*attention.mask, Storage::F32);
    mask = broadcast_view(mask, {q.shape[0], q.shape[1], q.shape[2], k.shape[2]});
    // Axes of 1 are repeated, too: one mask for all heads has one summary.
    for (size_t i = 0; i < 3; ++i) {
      if (mask.shape[i] == Dim(1)) mask.strides[i] = 0;
    }
    views.push_back(mask);
    if (builder.target().takes_mask_summaries) views.push_back(mask_summary(builder, mask));
  }
  if (attention.sinks) {
    views.push_back(builder.contiguous(builder.view_as(*attention.sinks, Storage::F32)));
  }
  builder.emit(AttentionNode{attention.scale, attention.over_root, attention.softcap,
                             attention.mask.has_value(),
                             attention.mask.has_value() && builder.target().takes_mask_summaries,
                             attention.sinks.has_value()},
               std::move(views));
  return out;
}

}  // namespace pippin::engine
