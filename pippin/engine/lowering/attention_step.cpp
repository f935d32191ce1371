#include "pippin/engine/lowering/attention_step.h"

#include <cmath>
#include <limits>

#include "pippin/engine/lowering/rules.h"
#include "pippin/kernels/attention/attention.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Shape;

constexpr int64_t kChunkNumbers = 2;  // of kernels::summarize_mask

// views: summary [batch, heads, rows, chunks, 2], mask [batch, heads, rows, keys].
class MaskSummaryStep : public Step {
 public:
  std::string name() const override { return "mask summary"; }
  void run(const StepContext& context) const noexcept override {
    const Operand& summary = context.operands[0];
    const Operand& mask = context.operands[1];
    for (int64_t batch = 0; batch < mask.shape[0]; ++batch) {
      kernels::MaskArgs args{};
      args.mask = mask.floats() + batch * mask.strides[0];
      args.head_stride = mask.strides[1];
      args.row_stride = mask.strides[2];
      args.key_stride = mask.strides[3];
      args.heads = mask.shape[1];
      args.rows = mask.shape[2];
      args.keys = mask.shape[3];
      args.summary = summary.floats() + batch * summary.strides[0];
      args.summary_head_stride = summary.strides[1];
      args.summary_row_stride = summary.strides[2];
      kernels::summarize_mask(context.pool, args);
    }
  }
};

// views: out, q, k, v[, mask, summary][, sinks]: the sinks [heads], the others [batch, heads, rows,
// columns], and the summary's numbers behind them.
class AttentionStep : public Step {
 public:
  AttentionStep(const CpuFeatures& cpu, Storage cache, const AttentionViews& attention)
      : kernel_(kernels::choose_attention(
            cache == Storage::F16 ? kernels::CacheType::F16 : kernels::CacheType::F32, cpu)),
        scale_(attention.scale),
        over_root_(attention.over_root),
        masked_(attention.mask.has_value()),
        sinks_(attention.sinks.has_value()),
        softcap_(static_cast<float>(attention.softcap)) {}

  std::string name() const override {
    return std::string(sinks_ ? "attention with sinks (" : "attention (") + kernel_.name + ")";
  }

  int64_t scratch_bytes() const override { return scratch_floats() * element_size(Storage::F32); }

  void run(const StepContext& context) const noexcept override {
    const Operand& out = context.operands[0];
    const Operand& q = context.operands[1];
    const Operand& k = context.operands[2];
    const Operand& v = context.operands[3];
    const int64_t scratch = scratch_floats();
    for (int64_t batch = 0; batch < out.shape[0]; ++batch) {
      kernels::AttentionArgs args{};
      args.q = q.floats() + batch * q.strides[0];
      args.q_head_stride = q.strides[1];
      args.q_row_stride = q.strides[2];
      args.q_dim_stride = q.strides[3];
      args.k = k.data + batch * k.strides[0] * element_size(k.storage);
      args.k_head_stride = k.strides[1];
      args.k_key_stride = k.strides[2];
      args.k_dim_stride = k.strides[3];
      args.v = v.data + batch * v.strides[0] * element_size(v.storage);
      args.v_head_stride = v.strides[1];
      args.v_key_stride = v.strides[2];
      args.v_dim_stride = v.strides[3];
      if (sinks_) args.sinks = context.operands.back().floats();
      if (masked_) {
        const Operand& mask = context.operands[4];
        args.mask = mask.floats() + batch * mask.strides[0];
        args.mask_head_stride = mask.strides[1];
        args.mask_row_stride = mask.strides[2];
        args.mask_key_stride = mask.strides[3];
        const Operand& summary = context.operands[5];
        args.summary = summary.floats() + batch * summary.strides[0];
        args.summary_head_stride = summary.strides[1];
        args.summary_row_stride = summary.strides[2];
      }
      args.out = out.floats() + batch * out.strides[0];
      args.out_head_stride = out.strides[1];
      args.out_row_stride = out.strides[2];
      args.out_dim_stride = out.strides[3];
      args.heads = q.shape[1];
      args.kv_heads = k.shape[1];
      args.rows = q.shape[2];
      args.keys = k.shape[2];
      args.head_dim = q.shape[3];
      args.value_dim = v.shape[3];
      const double root = over_root_ ? std::sqrt(static_cast<double>(args.head_dim)) : 1;
      args.scale = static_cast<float>(scale_ / root);
      args.softcap = softcap_;
      kernels::attention(context.pool, kernel_, args, reinterpret_cast<float*>(context.scratch),
                         scratch);
    }
  }

 private:
  int64_t scratch_floats() const {
    kernels::AttentionArgs args{};
    args.heads = views[1].shape[1].upper();
    args.kv_heads = views[2].shape[1].upper();
    args.rows = views[1].shape[2].upper();
    args.keys = views[2].shape[2].upper();
    args.head_dim = views[1].shape[3].upper();
    args.value_dim = views[3].shape[3].upper();
    return (kernels::attention_scratch_floats(args) + 15) / 16 * 16;
  }

  const kernels::AttentionKernel& kernel_;
  double scale_;
  bool over_root_, masked_, sinks_;
  float softcap_;
};

// 0 or -inf of bools.
class AllowedStep : public Step {
 public:
  std::string name() const override { return "mask"; }
  void run(const StepContext& context) const noexcept override {
    const Operand& mask = context.operands[0];
    const Operand& allowed = context.operands[1];
    for (int64_t i = 0; i < mask.size(); ++i) {
      mask.floats()[i] = allowed.bools()[i] != 0 ? 0 : -std::numeric_limits<float>::infinity();
    }
  }
};

// The step that made the same of the same, if there is one: masks are shared by layers.
template <typename S>
const View* made_before(Builder& builder, const View& from) {
  for (const Node& node : builder.nodes()) {
    if (ready_step<const S>(node) == nullptr) continue;
    const View& other = node.views[1];
    if (other.buffer == from.buffer && other.offset == from.offset && other.shape == from.shape &&
        other.strides == from.strides) {
      return &node.views[0];
    }
  }
  return nullptr;
}

// The mask's smallest and largest entries by chunks of keys, [batch, heads, rows, chunks, 2];
// nothing is repeated in memory that the mask repeats.
View mask_summary(Builder& builder, const View& mask) {
  View once = mask;
  for (size_t i = 0; i < 3; ++i) {
    if (once.strides[i] == Dim(0)) once.shape[i] = 1;
  }
  Shape shape(once.shape.begin(), once.shape.end() - 1);
  const Dim keys_of_chunk(kernels::mask_chunk_keys());
  shape.push_back(floor_div(once.shape[3] + keys_of_chunk - 1, keys_of_chunk));
  shape.emplace_back(kChunkNumbers);
  View summary;
  if (const View* known = made_before<MaskSummaryStep>(builder, once)) {
    summary = *known;
  } else {
    summary = builder.allocate(Storage::F32, shape);
    builder.emit_step<MaskSummaryStep>({summary, once});
  }
  for (size_t i = 0; i < 3; ++i) {
    if (!(mask.strides[i] == Dim(0))) continue;
    summary.shape[i] = mask.shape[i];
    summary.strides[i] = 0;
  }
  return summary;
}

// A cache in which the elements of a key lie side by side, or the keys of an element.
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
  if (const View* known = made_before<AllowedStep>(builder, allowed)) return *known;
  View mask = builder.allocate(Storage::F32, allowed.shape);
  builder.emit_step<AllowedStep>({mask, allowed});
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
    // Axes of 1 are repeated, too: one mask for all heads is one summary.
    for (size_t i = 0; i < 3; ++i) {
      if (mask.shape[i] == Dim(1)) mask.strides[i] = 0;
    }
    views.push_back(mask);
    views.push_back(mask_summary(builder, mask));
  }
  if (attention.sinks) {
    views.push_back(builder.contiguous(builder.view_as(*attention.sinks, Storage::F32)));
  }
  builder.emit_step<AttentionStep>(std::move(views), builder.cpu(), k.storage, attention);
  return out;
}

}  // namespace pippin::engine
