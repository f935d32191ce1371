// Attention and its masks.
#include <cmath>
#include <limits>

#include "pippin/engine/cpu/steps.h"
#include "pippin/kernels/attention/attention.h"

namespace pippin::engine {
namespace {

void summarize(ThreadPool& pool, const Operand& summary, const Operand& mask) {
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
    kernels::summarize_mask(pool, args);
  }
}

class MaskSummaryStep : public Step {
 public:
  void run(const StepContext& context) const noexcept override {
    summarize(context.pool, context.operands[0], context.operands[1]);
  }
};

class AttentionStep : public Step {
 public:
  AttentionStep(const CpuFeatures& cpu, Storage cache, const AttentionNode& node)
      : kernel_(kernels::choose_attention(
            cache == Storage::F16 ? kernels::CacheType::F16 : kernels::CacheType::F32, cpu)),
        node_(node) {}

  std::string kernel_name() const override { return kernel_.name; }

  int64_t scratch_bytes() const override {
    return (tile_floats() + summary_floats()) * element_size(Storage::F32);
  }

  void run(const StepContext& context) const noexcept override {
    const Operand& out = context.operands[0];
    const Operand& q = context.operands[1];
    const Operand& k = context.operands[2];
    const Operand& v = context.operands[3];
    const int64_t scratch = tile_floats() + summary_floats();
    Operand summary;
    if (node_.has_summary) {
      summary = context.operands[AttentionNode::kMask + 1];
    } else if (node_.is_masked) {
      summary = own_summary(context);
    }
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
      if (node_.has_sinks) args.sinks = context.operands.back().floats();
      if (node_.is_masked) {
        const Operand& mask = context.operands[AttentionNode::kMask];
        args.mask = mask.floats() + batch * mask.strides[0];
        args.mask_head_stride = mask.strides[1];
        args.mask_row_stride = mask.strides[2];
        args.mask_key_stride = mask.strides[3];
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
      const double root = node_.over_root ? std::sqrt(static_cast<double>(args.head_dim)) : 1;
      args.scale = static_cast<float>(node_.scale / root);
      args.softcap = static_cast<float>(node_.softcap);
      kernels::attention(context.pool, kernel_, args, reinterpret_cast<float*>(context.scratch),
                         scratch);
    }
  }

 private:
  // The summary of a mask that comes without, after the first thread's tile.
  Operand own_summary(const StepContext& context) const {
    Operand summary;
    const Operand& mask = context.operands[AttentionNode::kMask];
    summary.data = context.scratch + tile_floats() * element_size(Storage::F32);
    int64_t size = 2 * kernels::mask_chunks(mask.shape[3]);
    for (int axis = 2; axis >= 0; --axis) {
      if (mask.strides[axis] == 0) continue;
      summary.strides[axis] = size;
      size *= mask.shape[axis];
    }
    Operand once = mask;
    for (int axis = 0; axis < 3; ++axis) {
      if (mask.strides[axis] == 0) once.shape[axis] = 1;
    }
    summarize(context.pool, summary, once);
    return summary;
  }

  int64_t summary_floats() const {
    if (!node_.is_masked || node_.has_summary) return 0;
    const View& mask = views[AttentionNode::kMask];
    int64_t size = 2 * kernels::mask_chunks(mask.shape[3].upper());
    for (size_t axis = 0; axis < 3; ++axis) {
      if (!(mask.strides[axis] == mil::Dim(0))) size *= mask.shape[axis].upper();
    }
    return (size + 15) / 16 * 16;
  }

  int64_t tile_floats() const {
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
  const AttentionNode& node_;
};

class AllowedStep : public Step {
 public:
  void run(const StepContext& context) const noexcept override {
    const Operand& mask = context.operands[0];
    const Operand& allowed = context.operands[1];
    for (int64_t i = 0; i < mask.size(); ++i) {
      mask.floats()[i] = allowed.bools()[i] != 0 ? 0 : -std::numeric_limits<float>::infinity();
    }
  }
};

}  // namespace

StepPointer make_step_of(const AllowedNode&, const StepSource&) {
  return std::make_unique<AllowedStep>();
}
StepPointer make_step_of(const AttentionNode& node, const StepSource& source) {
  return std::make_unique<AttentionStep>(source.cpu(), source.node.views[2].storage, node);
}
StepPointer make_step_of(const MaskSummaryNode&, const StepSource&) {
  return std::make_unique<MaskSummaryStep>();
}

}  // namespace pippin::engine
