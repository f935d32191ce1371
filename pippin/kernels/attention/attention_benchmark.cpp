// Every attention kernel that this machine can run, on the heads of a 1B Llama (32 over 4, 64
// wide): bytes/s are bytes of cache that count, FLOP/s those of the keys that count.
#include <limits>
#include <vector>

#include <benchmark/benchmark.h>

#include "pippin/base/thread_pool.h"
#include "pippin/kernels/attention/attention.h"

namespace pippin::kernels {
namespace {

ThreadPool& pool() {
  static ThreadPool pool;
  return pool;
}

// `rows` new tokens after `used - rows` others, in a cache of `keys` slots.
void run_attention(benchmark::State& state, const AttentionKernel& kernel) {
  const int64_t rows = state.range(0);
  const int64_t used = state.range(1);
  const int64_t keys = state.range(2);
  constexpr int64_t kHeads = 32, kKvHeads = 4, kDim = 64;
  const size_t words = static_cast<size_t>(kKvHeads * keys * kDim);
  // Both halves of each word are small numbers in every type.
  const std::vector<uint32_t> k(words, 0x24002400u), v(words, 0x24002400u);
  const std::vector<float> q(static_cast<size_t>(kHeads * rows * kDim), 0.5f);
  std::vector<float> out(q.size());
  std::vector<float> mask(static_cast<size_t>(rows * keys),
                          -std::numeric_limits<float>::infinity());
  int64_t pairs = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t count = used - rows + row + 1;
    std::fill_n(mask.begin() + row * keys, count, 0.0f);
    pairs += count;
  }
  const AttentionArgs args = {q.data(),   rows * kDim, kDim, k.data(),    keys * kDim, kDim,
                              v.data(),   keys * kDim, kDim, mask.data(), 0,           keys,
                              out.data(), rows * kDim, kDim, kHeads,      kKvHeads,    rows,
                              keys,       kDim,        kDim, 0.125f};
  std::vector<float> scratch(
      static_cast<size_t>(attention_scratch_floats(args) * pool().num_threads()));
  for (auto _ : state) attention(pool(), kernel, args, scratch.data());
  const int64_t element = kernel.cache == CacheType::F16 ? 2 : 4;
  state.SetBytesProcessed(state.iterations() * 2 * kKvHeads * used * kDim * element);
  state.counters["FLOP/s"] = benchmark::Counter(static_cast<double>(4 * kHeads * kDim * pairs),
                                                benchmark::Counter::kIsIterationInvariantRate);
}

const int registered = [] {
  for (const AttentionKernel& kernel : attention_kernels()) {
    if (!can_run(kernel.needs, detect_cpu())) continue;
    auto* bench = benchmark::RegisterBenchmark(
        kernel.name, [&kernel](benchmark::State& state) { run_attention(state, kernel); });
    bench->ArgNames({"rows", "used", "slots"})->UseRealTime()->Unit(benchmark::kMicrosecond);
    bench->Args({1, 256, 256})->Args({1, 1024, 1024})->Args({1, 256, 4096})->Args({1, 4096, 4096});
    if (kernel.needs == nullptr) continue;
    bench->Args({8, 1024, 1024})->Args({128, 128, 128})->Args({512, 512, 512});
    bench->Args({512, 4096, 4096});
  }
  return 0;
}();

}  // namespace
}  // namespace pippin::kernels
