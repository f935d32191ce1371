// Attention: chooses the kernel by the number of rows and the layout of the cache.
#include <cmath>

#include "pippin/cuda/kernels/attention_args.h"
#include "pippin/cuda/launchers/launchers.h"

namespace pippin::cuda {
namespace {

using engine::AttentionNode;
using engine::Operand;
using engine::Storage;

constexpr int64_t kMostSize = int64_t{1} << 31;
constexpr size_t kPlainFloats = 256 + 96;  // kPlainChunk, and those of exchanges

CacheType cache_type_of(Storage storage) {
  return storage == Storage::F16    ? CacheType::F16
         : storage == Storage::BF16 ? CacheType::BF16
                                    : CacheType::F32;
}

template <typename T>
AttentionView<T> attention_view(const Operand& operand) {
  return {reinterpret_cast<T*>(operand.data), operand.strides[0], operand.strides[1],
          operand.strides[2], operand.strides[3]};
}

AttentionArgs attention_args(const AttentionNode& node, std::span<const Operand> operands) {
  const Operand& q = operands[1];
  const Operand& k = operands[2];
  const Operand& v = operands[3];
  AttentionArgs args{};
  args.out = attention_view<float>(operands[0]);
  args.q = attention_view<const float>(q);
  args.k = attention_view<const void>(k);
  args.v = attention_view<const void>(v);
  if (node.is_masked) args.mask = attention_view<const float>(operands[AttentionNode::kMask]);
  if (node.has_sinks) args.sinks = operands.back().floats();
  args.batch = static_cast<int32_t>(q.shape[0]);
  args.heads = static_cast<int32_t>(q.shape[1]);
  args.kv_heads = static_cast<int32_t>(k.shape[1]);
  args.rows = static_cast<int32_t>(q.shape[2]);
  args.keys = static_cast<int32_t>(k.shape[2]);
  args.head_dim = static_cast<int32_t>(q.shape[3]);
  args.value_dim = static_cast<int32_t>(v.shape[3]);
  const double root = node.over_root ? std::sqrt(static_cast<double>(args.head_dim)) : 1;
  args.scale = static_cast<float>(node.scale / root);
  args.softcap = static_cast<float>(node.softcap);
  args.inverse_softcap = node.softcap == 0 ? 0 : static_cast<float>(1 / node.softcap);
  args.cache = cache_type_of(k.storage);
  return args;
}

class AttentionLauncher : public Launcher {
 public:
  explicit AttentionLauncher(const AttentionNode& node) : node_(node) {}

  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    if (context.operands[0].size() == 0) return;
    const AttentionArgs args = attention_args(node_, context.operands);
    const int64_t blocks = int64_t{args.batch} * args.heads * args.rows;
    const size_t floats = static_cast<size_t>(args.head_dim + args.value_dim) + kPlainFloats;
    launches.push_back(
        Launch::of(Kernel::attention_plain, args, blocks, 128, floats * sizeof(float)));
  }

 private:
  AttentionNode node_;
};

}  // namespace

LauncherPointer make_launcher_of(const AttentionNode& node, const LauncherSource& source) {
  const auto& views = source.node.views;
  const auto most = [&](size_t view, size_t axis) { return views[view].shape[axis].upper(); };
  for (size_t i = 0; i < 4; ++i) {
    const bool is_cache = i == 2 || i == 3;
    const Storage storage = views[i].storage;
    if (is_cache ? !engine::is_float(storage) || storage != views[2].storage
                 : storage != Storage::F32) {
      return nullptr;
    }
    for (size_t axis = 0; axis < 4; ++axis) {
      if (most(i, axis) >= kMostSize) return nullptr;
    }
  }
  const int64_t floats = most(1, 3) + most(3, 3) + static_cast<int64_t>(kPlainFloats);
  if (floats * engine::element_size(Storage::F32) > source.limits.shared_bytes) return nullptr;
  return std::make_unique<AttentionLauncher>(node);
}

}  // namespace pippin::cuda
