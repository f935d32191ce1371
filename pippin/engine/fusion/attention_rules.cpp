// scaled_dot_product_attention through the fused kernel.
#include "pippin/base/error.h"
#include "pippin/engine/fusion/attention_match.h"
#include "pippin/engine/lowering/attention_step.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Shape;

// A tensor of rank 2 or more as [batch, heads, rows, columns].
View four_axes(Builder& builder, const View& view, const Shape& batch_and_heads) {
  Shape shape = batch_and_heads;
  shape.insert(shape.end(), view.shape.end() - 2, view.shape.end());
  View wide = broadcast_view(view, shape);
  const size_t rank = wide.shape.size();
  if (rank == 4) return wide;
  if (rank == 3) {
    wide.shape.insert(wide.shape.begin(), Dim(1));
    wide.strides.insert(wide.strides.begin(), Dim(0));
    return wide;
  }
  Shape merged = {mil::num_elements(Shape(shape.begin(), shape.end() - 3)), shape[rank - 3],
                  shape[rank - 2], shape[rank - 1]};
  if (auto reshaped = reshape_view(wide, merged)) return *reshaped;
  return *reshape_view(builder.contiguous(wide), merged);
}

// Whether each KV head is shared by the same number of heads.
bool shares(const Dim& heads, const Dim& kv_heads) {
  if (heads == kv_heads) return true;
  return heads.is_constant() && kv_heads.is_constant() && kv_heads.constant() > 0 &&
         heads.constant() % kv_heads.constant() == 0;
}

void attention(Builder& builder, const mil::Operation& operation) {
  const Shape& out_shape = builder.info(operation.output()).shape;
  if (out_shape.size() < 3) {
    fail(ErrorCode::InvalidFile, "{}: rank {} is less than 3", builder.where(operation),
         out_shape.size());
  }
  const Shape heads(out_shape.begin(), out_shape.end() - 2);
  AttentionViews views;
  const auto cached = [&](std::string_view name) {
    View view;
    if (auto group = ungrouped(builder, operation.input_var(name))) {
      view = *group;
    } else {
      view = builder.view(operation, name);
    }
    if (view.storage != Storage::F16) view = builder.view_as(view, Storage::F32);
    const bool grouped = view.rank() == 4 && out_shape.size() == 4;
    return four_axes(builder, view, grouped ? Shape{heads[0], view.shape[1]} : heads);
  };
  views.k = cached("key");
  views.v = cached("value");
  if (views.k.storage != views.v.storage || !(views.k.shape[1] == views.v.shape[1]) ||
      !shares(heads.back(), views.k.shape[1])) {
    views.k = four_axes(builder, builder.floats(operation, "key"), heads);
    views.v = four_axes(builder, builder.floats(operation, "value"), heads);
  }
  const Scaled query = unscaled(operation, "query");
  views.q = four_axes(builder, builder.view_as(builder.view(*query.value), Storage::F32), heads);
  views.scale = query.scale;
  views.over_root = true;
  if (operation.find_input("attn_mask") != nullptr) {
    View mask = builder.view(operation, "attn_mask");
    mask = mask.storage == Storage::Bool ? additive_mask(builder, mask)
                                         : builder.view_as(mask, Storage::F32);
    Shape full = heads;
    full.push_back(views.q.shape[2]);
    full.push_back(views.k.shape[2]);
    views.mask = four_axes(builder, broadcast_view(mask, full), heads);
  }
  const View out = emit_attention(builder, views);
  if (auto reshaped = reshape_view(out, out_shape)) {
    builder.define_output(operation, *reshaped);
  } else {
    builder.define_output(operation, *reshape_view(builder.contiguous(out), out_shape));
  }
}

}  // namespace

void add_attention_rules(Rules& rules) {
  rules["scaled_dot_product_attention"] = attention;
}

}  // namespace pippin::engine
