// Attention and its masks.
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "pippin/engine/cpu/launch.h"
#include "pippin/engine/cpu/scratch.h"
#include "pippin/engine/cpu/steps.h"
#include "pippin/engine/run/peers.h"
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

kernels::CacheType cache_type(const AttentionNode& node, Storage storage) {
  if (node.cache == CacheType::Q8) return kernels::CacheType::Q8;
  if (node.cache == CacheType::Q4) return kernels::CacheType::Q4;
  return storage == Storage::F16    ? kernels::CacheType::F16
         : storage == Storage::BF16 ? kernels::CacheType::BF16
                                    : kernels::CacheType::F32;
}

// Floats of a thread, and after those of all threads the summary of a mask that comes without one.
struct AttentionScratch {
  int64_t tile = 0, summary = 0;

  // `size` gives the size of an axis of an operand, `repeats` whether the mask repeats along an
  // axis.
  template <typename Size, typename Repeats>
  AttentionScratch(const AttentionNode& node, const Size& size, const Repeats& repeats) {
    kernels::AttentionArgs args{};
    args.heads = size(1, 1);
    args.kv_heads = size(2, 1);
    args.rows = size(1, 2);
    args.keys = size(2, 2);
    args.head_dim = size(1, 3);
    args.value_dim = size(0, 3);
    tile = (kernels::attention_scratch_floats(args) + 15) / 16 * 16;
    if (!node.is_masked || node.has_summary) return;
    summary = 2 * kernels::mask_chunks(args.keys);
    for (int axis = 0; axis < 3; ++axis) {
      if (!repeats(axis)) summary *= size(AttentionNode::kMask, axis);
    }
    summary = (summary + 15) / 16 * 16;
  }

  int64_t floats() const { return tile + summary; }
};

AttentionScratch scratch_for(const AttentionNode& node, std::span<const Operand> operands) {
  return {node, [&](size_t operand, int axis) { return operands[operand].shape[axis]; },
          [&](int axis) { return operands[AttentionNode::kMask].strides[axis] == 0; }};
}

// The summary of a mask that comes without one.
Operand own_summary(ThreadPool& pool, const Operand& mask, float* memory) {
  Operand summary, once = mask;
  summary.data = reinterpret_cast<std::byte*>(memory);
  int64_t size = 2 * kernels::mask_chunks(mask.shape[3]);
  for (int axis = 2; axis >= 0; --axis) {
    if (mask.strides[axis] == 0) {
      once.shape[axis] = 1;
    } else {
      summary.strides[axis] = size;
      size *= mask.shape[axis];
    }
  }
  summarize(pool, summary, once);
  return summary;
}

// `scratch` has `sizes` for each thread.
void attend(const AttentionNode& node, const kernels::AttentionKernel& kernel,
            std::span<const Operand> operands, const AttentionScratch& sizes, bool may_round,
            ThreadPool& pool, float* scratch) {
  const Operand& out = operands[0];
  const Operand& q = operands[1];
  const Operand& k = operands[2];
  const Operand& v = operands[3];
  Operand summary;
  if (node.has_summary) {
    summary = operands[AttentionNode::kMask + 1];
  } else if (node.is_masked) {
    summary = own_summary(pool, operands[AttentionNode::kMask],
                          scratch + sizes.tile * pool.num_threads());
  }
  const bool has_scales = node.cache != CacheType::F16;
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
    if (node.has_sinks) args.sinks = operands[operands.size() - (has_scales ? 3 : 1)].floats();
    if (has_scales) {
      const Operand& k_scales = operands[operands.size() - 2];
      const Operand& v_scales = operands[operands.size() - 1];
      args.k_scales =
          reinterpret_cast<const uint16_t*>(k_scales.data) + batch * k_scales.strides[0];
      args.k_scale_head_stride = k_scales.strides[1];
      args.k_scale_key_stride = k_scales.strides[2];
      args.k_group = node.k_group;
      args.v_scales =
          reinterpret_cast<const uint16_t*>(v_scales.data) + batch * v_scales.strides[0];
      args.v_scale_head_stride = v_scales.strides[1];
      args.v_scale_key_stride = v_scales.strides[2];
      args.v_group = node.v_group;
    }
    args.may_round = may_round;
    if (node.is_masked) {
      const Operand& mask = operands[AttentionNode::kMask];
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
    args.value_dim = out.shape[3];
    const double root = node.over_root ? std::sqrt(static_cast<double>(args.head_dim)) : 1;
    args.scale = static_cast<float>(node.scale / root);
    args.softcap = static_cast<float>(node.softcap);
    kernels::attention(pool, kernel, args, scratch, sizes.tile);
  }
}

// The operands of the heads that read these heads of keys.
std::vector<Operand> operands_of_heads(const AttentionNode& node, std::span<const Operand> operands,
                                       Range kv_heads) {
  const int64_t group = operands[1].shape[1] / operands[2].shape[1];
  const size_t scales = operands.size() - (node.cache != CacheType::F16 ? 2 : 0);
  std::vector<Operand> result;
  result.reserve(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool is_cache = i == 2 || i == 3 || i >= scales;
    const bool are_sinks = node.has_sinks && i + 1 == scales;
    const Range heads = is_cache ? kv_heads : Range{kv_heads.begin * group, kv_heads.end * group};
    result.push_back(range_of(operands[i], are_sinks ? 0 : 1, heads));
  }
  return result;
}

class AttentionStep : public Step {
 public:
  AttentionStep(const ComputeOptions& options, Storage cache, const AttentionNode& node)
      : kernel_(kernels::choose_attention(cache_type(node, cache), options.cpu)),
        node_(node),
        may_round_(options.precision == Precision::Fast) {}

  std::string kernel_name() const override { return kernel_.name; }
  int64_t scratch_bytes() const override {
    return most_scratch().floats() * element_size(Storage::F32);
  }
  void run(const StepContext& context) const noexcept override {
    if (is_shared(context)) return leave_errors(context, [&] { run_divided(context); });
    attend(node_, kernel_, context.operands, most_scratch(), may_round_, context.pool,
           reinterpret_cast<float*>(context.scratch));
  }

 private:
  // Whether each peer takes some of the heads of keys.
  static bool is_shared(const StepContext& context) {
    const Operand &q = context.operands[1], &k = context.operands[2];
    return is_divided(context.peers, q.size() * k.shape[2]) && k.shape[1] >= context.peers->count();
  }
  void run_divided(const StepContext& context) const {
    const std::vector<Range> shares = shares_of(*context.peers, context.operands[2].shape[1]);
    const auto own = operands_of_heads(node_, context.operands,
                                       own_share(*context.peers, context.operands[2].shape[1]));
    attend(node_, kernel_, own, most_scratch(), may_round_, context.pool,
           reinterpret_cast<float*>(context.scratch));
    const int64_t group = context.operands[1].shape[1] / context.operands[2].shape[1];
    std::vector<Range> heads;
    heads.reserve(shares.size());
    for (const Range& share : shares) heads.push_back({share.begin * group, share.end * group});
    const Peers::Divided result = {context.operands[0], 1, std::move(heads)};
    context.peers->exchange({&result, 1});
  }

  AttentionScratch most_scratch() const {
    return {
        node_,
        [&](size_t view, int axis) { return views[view].shape[static_cast<size_t>(axis)].upper(); },
        [&](int axis) {
          return views[AttentionNode::kMask].strides[static_cast<size_t>(axis)] == mil::Dim(0);
        }};
  }

  const kernels::AttentionKernel& kernel_;
  const AttentionNode& node_;
  const bool may_round_;
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

void launch(const AttentionNode& node, std::span<const Operand> operands, ThreadPool& pool) {
  const AttentionScratch sizes = scratch_for(node, operands);
  const CallScratch scratch(sizes.floats() * element_size(Storage::F32), pool.num_threads());
  attend(node, kernels::choose_attention(cache_type(node, operands[2].storage), cpu_features()),
         operands, sizes, false, pool, reinterpret_cast<float*>(scratch.data()));
}

StepPointer make_step_of(const AllowedNode&, const StepSource&) {
  return std::make_unique<AllowedStep>();
}
StepPointer make_step_of(const AttentionNode& node, const StepSource& source) {
  return std::make_unique<AttentionStep>(source.options, source.node.views[2].storage, node);
}
StepPointer make_step_of(const MaskSummaryNode&, const StepSource&) {
  return std::make_unique<MaskSummaryStep>();
}

}  // namespace pippin::engine
