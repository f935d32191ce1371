// Every kernel for 12-bit weights that this machine can run, as dot_benchmark.cpp does for 16 bits:
// bytes/s counts bytes read.
#include <vector>

#include <benchmark/benchmark.h>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/kernels/e4m7/e4m7.h"

namespace pippin::kernels {
namespace {

ThreadPool& pool() {
  static ThreadPool pool;
  return pool;
}

void run_e4m7(benchmark::State& state, const E4M7Kernels& kernels) {
  const int64_t m = state.range(0);
  const int64_t n = state.range(1);
  const int64_t k = state.range(2);
  // Several matrices in turn, so that a decode step finds its weights in memory, not in the cache.
  const int64_t words = e4m7_bytes(n, k) / 8 + 8;
  const int64_t copies = m >= 64 ? 1 : (int64_t{32} << 20) / words + 1;
  std::vector<uint64_t> memory(static_cast<size_t>(copies * words), 0x3412341234123412u);
  for (int64_t copy = 0; copy < copies; ++copy) {
    const E4M7Parts parts =
        e4m7_parts(reinterpret_cast<std::byte*>(memory.data() + copy * words), n, k);
    for (int64_t i = 0; i < n; ++i) parts.scales[i] = 0x1p109f;
    for (int64_t i = 0; i <= n; ++i) parts.begins[i] = 0;
  }
  const std::vector<float> x(static_cast<size_t>(m * k), 0.5f);
  std::vector<float> y(static_cast<size_t>(m * n));
  std::vector<std::vector<float>> lifted_rows(static_cast<size_t>(pool().num_threads()));
  for (auto& rows : lifted_rows) {
    rows.resize(static_cast<size_t>(kMostLiftedRows * e4m7_lifted_stride(k)));
  }
  int64_t copy = 0;
  for (auto _ : state) {
    const E4M7Matrix w =
        e4m7_matrix(reinterpret_cast<const std::byte*>(memory.data() + copy * words), n, k);
    pool().run([&](int part, int parts) {
      const Range columns = split_range(n, part, parts, kE4M7Grain);
      std::vector<float>& rows = lifted_rows[static_cast<size_t>(part)];
      E4M7Lifted lifted{rows.data(), e4m7_lifted_stride(k), {}};
      if (m <= kernels.lifted_rows) kernels.lift(x.data(), k, m, k, lifted);
      kernels.dot({&w, x.data(), k, nullptr, y.data(), n, m, columns.begin, columns.end, &lifted});
    });
    copy = (copy + 1) % copies;
  }
  state.SetBytesProcessed(state.iterations() * n * k * 3 / 2);
  state.counters["FLOP/s"] = benchmark::Counter(static_cast<double>(2 * m * n * k),
                                                benchmark::Counter::kIsIterationInvariantRate);
}

const int registered = [] {
  for (const E4M7Kernels* kernels : runnable(e4m7_kernels(), detect_cpu())) {
    auto* bench = benchmark::RegisterBenchmark(
        kernels->name, [kernels](benchmark::State& state) { run_e4m7(state, *kernels); });
    bench->ArgNames({"m", "n", "k"})->UseRealTime()->Unit(benchmark::kMicrosecond);
    const bool scalar = kernels == e4m7_kernels().back().kernels;
    for (const int64_t m : {1, 2, 4, 8, 16, 128, 512}) {
      if (scalar && m > 1) continue;
      bench->Args({m, 256, 2048})->Args({m, 5632, 2048})->Args({m, 2048, 5632});
      if (m <= 16) bench->Args({m, 32000, 2048});
    }
  }
  return 0;
}();

}  // namespace
}  // namespace pippin::kernels
