// Every dot kernel that this machine can run, on the matrices of a 1B Llama: bytes/s counts bytes
// of weights (compare with pippin-bandwidth); for many rows, use FLOP/s.
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/kernels/dot/dot.h"

namespace pippin::kernels {
namespace {

ThreadPool& pool() {
  static ThreadPool pool;
  return pool;
}

// `many`: dot_many_rows(), by one thread.
void run_dot(benchmark::State& state, const DotKernel& kernel, bool many) {
  const int64_t m = state.range(0);
  const int64_t n = state.range(1);
  const int64_t k = state.range(2);
  // Several matrices in turn, so that a decode step finds its weights in memory, not in the cache.
  const int64_t bytes = n * k * bytes_per_weight(kernel.weight);
  const int64_t copies = m >= 64 ? 1 : (int64_t{256} << 20) / bytes + 1;
  // Both halves of each word are small numbers in every type.
  const std::vector<uint32_t> w(static_cast<size_t>(copies * bytes / 4), 0x24002400u);
  const std::vector<float> x(static_cast<size_t>(m * k), 0.5f);
  std::vector<float> y(static_cast<size_t>(m * n));
  std::vector<float> packed(static_cast<size_t>(packed_floats(kernel, n, k)));
  int64_t copy = 0;
  for (auto _ : state) {
    const auto* start = reinterpret_cast<const char*>(w.data()) + copy * bytes;
    const DotArgs args{x.data(), k, start, k, nullptr, y.data(), n, m, n, k};
    if (many) {
      dot_many_rows(kernel, args, packed.data(), [](Range, Range) {});
    } else {
      dot(pool(), kernel, args);
    }
    copy = (copy + 1) % copies;
  }
  state.SetBytesProcessed(state.iterations() * bytes);
  state.counters["FLOP/s"] = benchmark::Counter(static_cast<double>(2 * m * n * k),
                                                benchmark::Counter::kIsIterationInvariantRate);
}

const int registered = [] {
  for (const DotKernel& kernel : dot_kernels()) {
    if (!(detect_cpu().*kernel.needs)) continue;
    const bool scalar = kernel.needs == &CpuFeatures::scalar;
    for (const bool many : {false, true}) {
      auto* bench = benchmark::RegisterBenchmark(
          fmt::format("{}{}", kernel.name, many ? "_many" : "").c_str(),
          [&kernel, many](benchmark::State& state) { run_dot(state, kernel, many); });
      bench->ArgNames({"m", "n", "k"})->UseRealTime()->Unit(benchmark::kMicrosecond);
      for (const int64_t m : {1, 2, 4, 8, 16, 128, 512}) {
        if ((scalar && m > 1) || (many && m < kManyRows)) continue;
        bench->Args({m, 2048, 2048})->Args({m, 5632, 2048})->Args({m, 2048, 5632});
        if (m <= 16) bench->Args({m, 32000, 2048})->Args({m, 2048, 16});
      }
    }
  }
  return 0;
}();

}  // namespace
}  // namespace pippin::kernels
