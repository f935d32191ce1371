#include "pippin/kernels/attention/attention.h"

#include <algorithm>

#include "pippin/base/log.h"
#include "pippin/base/thread_pool.h"
#include "pippin/kernels/attention/sizes.h"

namespace pippin::kernels {
namespace {

constexpr AttentionKernel kKernels[] = {
#define PIPPIN_ATTENTION(flag, name, cache) {#name, CacheType::cache, &CpuFeatures::flag, name},
#define PIPPIN_ATTENTION_SCALAR(name, cache) {#name, CacheType::cache, nullptr, name},
#include "pippin/kernels/attention/kernels.inc"
#undef PIPPIN_ATTENTION
#undef PIPPIN_ATTENTION_SCALAR
};

}  // namespace

int64_t attention_scratch_floats(const AttentionArgs& args) {
  return kTileQueries * (kKeyBlock + args.value_dim + args.head_dim) + kScratchPadding;
}

std::span<const AttentionKernel> attention_kernels() {
  return kKernels;
}

const AttentionKernel& choose_attention(CacheType cache, const CpuFeatures& cpu) {
  const AttentionKernel* chosen = nullptr;
  for (const AttentionKernel& kernel : kKernels) {
    if (chosen == nullptr && kernel.cache == cache && can_run(kernel.needs, cpu)) chosen = &kernel;
  }
  log_choice("attention", chosen->name);  // the scalar line always matches
  return *chosen;
}

void attention(ThreadPool& pool, const AttentionKernel& kernel, const AttentionArgs& args,
               float* scratch) {
  // Work items are (KV head, tile of rows): the heads of a group share their reads of k and v.
  // Where those are too few for the threads, groups are split into heads.
  const int64_t group = args.heads / args.kv_heads;
  const int64_t tile_rows = std::max<int64_t>(1, kTileQueries / group);
  const int64_t row_tiles = (args.rows + tile_rows - 1) / tile_rows;
  const bool whole_groups = args.kv_heads * row_tiles >= pool.num_threads();
  const int64_t heads_per_item = whole_groups ? group : 1;
  const int64_t items = args.heads / heads_per_item * row_tiles;
  const int64_t scratch_floats = attention_scratch_floats(args);
  const auto run_share = [&](int part, int parts) {
    const Range range = split_range(items, part, parts);
    for (int64_t item = range.begin; item < range.end; ++item) {
      const int64_t head = item / row_tiles * heads_per_item;
      const int64_t tile = item % row_tiles;
      const AttentionShare share = {head, head + heads_per_item, tile * tile_rows,
                                    std::min(args.rows, (tile + 1) * tile_rows)};
      kernel.function(args, share, scratch + part * scratch_floats);
    }
  };
  constexpr int64_t kWorthSharing = int64_t{1} << 19;  // multiplications: about 25 us of one thread
  const int64_t work = args.heads * args.rows * args.keys * (args.head_dim + args.value_dim);
  if (work < kWorthSharing) {
    run_share(0, 1);
  } else {
    pool.run(run_share);
  }
}

}  // namespace pippin::kernels
