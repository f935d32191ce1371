// Every attention kernel that this machine can run, on the heads of a 1B Llama (32 over 4, 64
// wide), of a 1.3B one (16 over 16, 128 wide) and of Qwen3 0.6B (16 over 8, 128 wide): bytes/s
// counts bytes of visible cache, FLOP/s the operations for visible keys.
#include <algorithm>
#include <limits>
#include <vector>

#include <benchmark/benchmark.h>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/kernels/attention/attention.h"
#include "pippin/kernels/attention/cache_codes.h"

namespace pippin::kernels {
namespace {

ThreadPool& pool() {
  static ThreadPool pool;
  return pool;
}

// `rows` new tokens after `used - rows` others, in a cache of `keys` slots. Alternates between
// several caches, like the layers of a model: more than the processor's cache holds.
void run_attention(benchmark::State& state, const AttentionKernel& kernel) {
  const int64_t heads = state.range(0), kv_heads = state.range(1), dim = state.range(2);
  const int64_t rows = state.range(3);
  const int64_t used = state.range(4);
  const int64_t keys = state.range(5);
  const int64_t layers = rows == 1 ? 16 : 1;
  const bool coded = has_codes(kernel.cache);
  const int64_t row_bytes = coded                            ? code_bytes(kernel.cache, dim)
                            : kernel.cache == CacheType::F32 ? dim * 4
                                                             : dim * 2;
  const int64_t groups = coded ? dim / code_group(kernel.cache, dim) : 0;
  const int64_t layer_bytes = kv_heads * keys * row_bytes;
  const size_t words = static_cast<size_t>(layers * layer_bytes / 4);
  // Both halves of each word are small numbers in every type.
  const std::vector<uint32_t> k(words, 0x24002400u), v(words, 0x24002400u);
  const std::vector<float> q(static_cast<size_t>(heads * rows * dim), 0.5f);
  std::vector<float> out(q.size());
  std::vector<float> mask(static_cast<size_t>(rows * keys),
                          -std::numeric_limits<float>::infinity());
  int64_t pairs = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t count = used - rows + row + 1;
    std::fill_n(mask.begin() + row * keys, count, 0.0f);
    pairs += count;
  }
  const int64_t chunks = mask_chunks(keys);
  std::vector<float> summary(static_cast<size_t>(rows * chunks * 2));
  summarize_mask(pool(), {mask.data(), 0, keys, 1, 1, rows, keys, summary.data(), 0, chunks * 2});
  AttentionArgs args = {};
  args.q = q.data(), args.q_head_stride = rows * dim, args.q_row_stride = dim;
  args.k_key_stride = args.v_key_stride = coded ? row_bytes : dim;
  args.k_head_stride = args.v_head_stride = keys * args.k_key_stride;
  const std::vector<uint16_t> scales(static_cast<size_t>(layers * kv_heads * keys * groups),
                                     0x2400);
  args.k_scale_head_stride = args.v_scale_head_stride = keys * groups;
  args.k_scale_key_stride = args.v_scale_key_stride = groups;
  args.k_group = args.v_group = coded ? code_group(kernel.cache, dim) : 0;
  args.may_round = true;
  args.mask = mask.data(), args.mask_row_stride = keys, args.mask_key_stride = 1;
  args.summary = summary.data(), args.summary_row_stride = chunks * 2;
  args.out = out.data(), args.out_head_stride = rows * dim, args.out_row_stride = dim;
  args.q_dim_stride = args.k_dim_stride = args.v_dim_stride = args.out_dim_stride = 1;
  args.heads = heads, args.kv_heads = kv_heads, args.rows = rows, args.keys = keys;
  args.head_dim = args.value_dim = dim;
  args.scale = 0.125f;
  const int64_t floats = attention_scratch_floats(args);
  constexpr size_t kAligned = 16;  // floats, as plans align scratch
  std::vector<float> scratch(static_cast<size_t>(floats * pool().num_threads()) + kAligned);
  const size_t past = reinterpret_cast<uintptr_t>(scratch.data()) / sizeof(float) % kAligned;
  int64_t layer = 0;
  for (auto _ : state) {
    args.k = k.data() + layer * layer_bytes / 4;
    args.v = v.data() + layer * layer_bytes / 4;
    args.k_scales = args.v_scales = scales.data() + layer * kv_heads * keys * groups;
    attention(pool(), kernel, args, scratch.data() + (kAligned - past) % kAligned, floats);
    layer = (layer + 1) % layers;
  }
  state.SetBytesProcessed(state.iterations() * 2 * kv_heads * used * (row_bytes + 2 * groups));
  state.counters["FLOP/s"] = benchmark::Counter(static_cast<double>(4 * heads * dim * pairs),
                                                benchmark::Counter::kIsIterationInvariantRate);
}

const int registered = [] {
  for (const AttentionKernel& kernel : attention_kernels()) {
    if (!(detect_cpu().*kernel.needs)) continue;
    auto* bench = benchmark::RegisterBenchmark(
        kernel.name, [&kernel](benchmark::State& state) { run_attention(state, kernel); });
    bench->ArgNames({"heads", "kv", "dim", "rows", "used", "slots"});
    bench->UseRealTime()->Unit(benchmark::kMicrosecond);
    struct Heads {
      int64_t heads, kv_heads, dim;
    };
    for (const Heads& h : {Heads{32, 4, 64}, Heads{16, 16, 128}, Heads{16, 8, 128}}) {
      const auto add = [&](int64_t rows, int64_t used, int64_t slots) {
        bench->Args({h.heads, h.kv_heads, h.dim, rows, used, slots});
      };
      add(1, 256, 256), add(1, 50, 2048), add(1, 1024, 1024), add(1, 2048, 4096);
      if (kernel.needs == nullptr) continue;
      add(8, 1024, 1024), add(128, 128, 128), add(512, 512, 512), add(256, 4096, 4096);
    }
  }
  return 0;
}();

}  // namespace
}  // namespace pippin::kernels
