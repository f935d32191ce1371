#include "pippin/kernels/attention/attention.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <new>

#include "pippin/base/log.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/kernels/attention/sizes.h"

namespace pippin::kernels {
namespace {

constexpr AttentionKernel kKernels[] = {
#define PIPPIN_ATTENTION(flag, name, cache) {#name, CacheType::cache, &CpuFeatures::flag, name},
#include "pippin/kernels/attention/kernels.inc"
#undef PIPPIN_ATTENTION
};

// Heads that share a KV head; with sizes of 0 nothing is computed, but scratch is still requested.
int64_t group_of(const AttentionArgs& a) {
  return std::max<int64_t>(1, a.heads / std::max<int64_t>(1, a.kv_heads));
}

// Division of queries into tiles: [kv_heads][head_tiles][row_tiles].
struct Tiling {
  bool is_few;
  int64_t tile_heads, tile_rows, head_tiles, row_tiles, count;
  int64_t part_floats;  // maximum, for one chunk of a tile

  explicit Tiling(const AttentionArgs& a) {
    const int64_t group = group_of(a);
    // Depends on the group, not on the number of queries: the code path of a few rows must not
    // depend on how many there are.
    is_few = group <= kFewQueries && a.rows <= kFewRows && a.v_dim_stride == 1;
    const int64_t most = is_few ? kFewQueries : kManyQueries;
    tile_heads = std::min(group, most);
    tile_rows = std::max<int64_t>(1, most / tile_heads);
    head_tiles = (group + tile_heads - 1) / tile_heads;
    row_tiles = (a.rows + tile_rows - 1) / tile_rows;
    count = a.kv_heads * head_tiles * row_tiles;
    // Lanes without a query take space too.
    const int64_t queries = (std::min(a.rows, tile_rows) * tile_heads + 63) / 64 * 64;
    part_floats = kManyPartHeader + queries * a.value_dim;
  }

  // For the parts of all tiles, and a counter for each.
  int64_t parts_floats(const AttentionArgs& a) const {
    return count * (mask_chunks(a.keys) * part_floats + 1);
  }

  AttentionTask task(const AttentionArgs& a, int64_t tile) const {
    const int64_t group = group_of(a);
    const int64_t row = tile % row_tiles * tile_rows;
    const int64_t head_tile = tile / row_tiles % head_tiles;
    const int64_t kv_head = tile / row_tiles / head_tiles;
    AttentionTask task{};
    task.is_few = is_few;
    task.head = kv_head * group + head_tile * tile_heads;
    task.heads = std::min(tile_heads, group - head_tile * tile_heads);
    task.row = row;
    task.rows = std::min(tile_rows, a.rows - row);
    return task;
  }
};

bool sees(const AttentionArgs& a, const AttentionTask& task, int64_t chunk) {
  if (a.mask == nullptr) return true;
  const int64_t heads = a.mask_head_stride == 0 ? 1 : task.heads;
  for (int64_t head = task.head; head < task.head + heads; ++head) {
    const float* summary = a.summary + head * a.summary_head_stride + 2 * chunk + 1;
    for (int64_t row = task.row + task.rows; row-- > task.row;) {
      if (summary[row * a.summary_row_stride] != -std::numeric_limits<float>::infinity())
        return true;
    }
  }
  return false;
}

// The number of chunks of a tile that count.
int64_t cost(const AttentionArgs& a, const AttentionTask& task, int64_t chunks) {
  int64_t count = 0;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) count += sees(a, task, chunk) ? 1 : 0;
  return count;
}

constexpr int64_t kMostPartFloats = int64_t{1} << 20;

int64_t own_floats(const AttentionArgs& a) {
  const int64_t dims = std::max(a.head_dim, a.value_dim);
  return kManyQueries * (a.head_dim + kChunk) + kChunk * dims + kPairRows * (dims + kPairsApart) +
         2 * (kManyPartHeader + kManyQueries * a.value_dim);
}

}  // namespace

int64_t attention_scratch_floats(const AttentionArgs& args) {
  const Tiling tiling(args);
  // Tiles are shared only with two or more threads.
  const int64_t parts = tiling.parts_floats(args) / 2 + 1;
  return own_floats(args) + std::min(parts, kMostPartFloats);
}

std::span<const AttentionKernel> attention_kernels() {
  return kKernels;
}

const AttentionKernel& choose_attention(CacheType cache, const CpuFeatures& cpu) {
  const AttentionKernel* chosen = nullptr;
  for (const AttentionKernel& kernel : kKernels) {
    if (chosen == nullptr && kernel.cache == cache && cpu.*kernel.needs) chosen = &kernel;
  }
  log_choice("attention", chosen->name);  // the scalar line always matches
  return *chosen;
}

void attention(ThreadPool& pool, const AttentionKernel& kernel, const AttentionArgs& args,
               float* scratch, int64_t scratch_floats) {
  if (args.heads < 1 || args.kv_heads < 1 || args.rows < 1) return;
  const Tiling tiling(args);
  const int64_t chunks = mask_chunks(args.keys), own = own_floats(args);
  const int64_t threads = pool.num_threads();
  // The work of a tile in chunks; if heads share a mask, tiles of the same rows have equal work.
  const bool alike = args.mask == nullptr || args.mask_head_stride == 0;
  int64_t round = 0;
  for (int64_t i = 0; i < (alike ? tiling.row_tiles : tiling.count); ++i) {
    round += cost(args, tiling.task(args, i), chunks);
  }
  const int64_t rounds = alike ? tiling.count / tiling.row_tiles : 1, total = round * rounds;

  const auto run_whole = [&](int64_t tile, int part) {
    AttentionTask task = tiling.task(args, tile);
    task.kind = AttentionTask::Kind::Whole;
    kernel.function(args, task, scratch + part * own);
  };
  constexpr int64_t kWorthSharing = int64_t{1} << 19;  // multiplications: about 25 us of one thread
  const int64_t queries = std::min(args.rows, tiling.tile_rows) * tiling.tile_heads;
  const int64_t work =
      total * std::min(args.keys, kChunk) * queries * (args.head_dim + args.value_dim);
  if (threads == 1 || work < kWorthSharing) {
    for (int64_t tile = 0; tile < tiling.count; ++tile) run_whole(tile, 0);
    return;
  }

  // Thread i takes the chunks [total * i / threads, total * (i + 1) / threads) of all, counted tile
  // by tile; whole tiles belong to the thread in whose range they begin.
  const bool even = alike && rounds % threads == 0;
  const bool fits = tiling.parts_floats(args) <= (scratch_floats - own) * threads;
  constexpr int64_t kManyTiles = 16;  // per thread: few idle threads at the end
  const bool in_parts = kernel.needs != nullptr && !even && fits &&
                        tiling.count < kManyTiles * threads && total > tiling.count;
  float* parts = scratch + threads * own;
  const auto tile_parts = [&](int64_t tile) { return parts + tile * chunks * tiling.part_floats; };
  // The thread of a tile's last chunk combines them, in their order: no second barrier.
  static_assert(sizeof(std::atomic<int32_t>) == sizeof(float));
  auto* const unfinished = reinterpret_cast<std::atomic<int32_t>*>(tile_parts(tiling.count));
  for (int64_t tile = 0; in_parts && tile < tiling.count; ++tile) {
    const int64_t own_cost = cost(args, tiling.task(args, tile), chunks);
    new (unfinished + tile) std::atomic<int32_t>(static_cast<int32_t>(own_cost));
  }
  const auto run_part = [&](int64_t tile, Range costs, int part) {
    AttentionTask task = tiling.task(args, tile);
    task.parts = tile_parts(tile);
    if (costs.begin < costs.end) {
      task.kind = AttentionTask::Kind::Chunks;
      task.chunk_begin = chunks;
      int64_t place = 0;
      for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        if (!sees(args, task, chunk)) continue;
        if (place >= costs.begin && place < costs.end) {
          task.chunk_begin = std::min(task.chunk_begin, chunk);
          task.chunk_end = chunk + 1;
        }
        ++place;
      }
      kernel.function(args, task, scratch + part * own);
    }
    const auto done = static_cast<int32_t>(costs.end - costs.begin);
    if (unfinished[tile].fetch_sub(done, std::memory_order_acq_rel) != done) return;
    task.kind = AttentionTask::Kind::Combine;
    kernel.function(args, task, scratch + part * own);
  };
  pool.run([&](int part, int num_parts) {
    const int64_t begin = total * part / num_parts, end = total * (part + 1) / num_parts;
    // Tiles without work at the end of a round belong to the next one's thread.
    const int64_t first = alike && begin > 0 ? (begin - 1) / round : 0;
    int64_t at = first * round;
    for (int64_t tile = alike ? first * tiling.row_tiles : 0; tile < tiling.count; ++tile) {
      const int64_t own_cost = cost(args, tiling.task(args, tile), chunks);
      // Tiles without work also belong to the thread whose range they are in.
      if (at > end || (at == end && part + 1 < num_parts)) break;
      if (!in_parts) {
        if (at >= begin) run_whole(tile, part);
      } else if (own_cost == 0 ? at >= begin : at + own_cost > begin && at < end) {
        run_part(tile, {std::max<int64_t>(0, begin - at), std::min(own_cost, end - at)}, part);
      }
      at += own_cost;
    }
  });
}

}  // namespace pippin::kernels
