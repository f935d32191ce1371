// The recurrences of every table that this machine can run, on one thread and 256 tokens: bytes/s
// count what is read and written of tokens once, the states stay in the cache.
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "pippin/kernels/recurrence/recurrence.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kTokens = 256;

// Rows of n numbers each: a head of Mamba 2, or features of Mamba.
void add(const RecurrenceKernels& table, bool selective, int64_t rows, int64_t n) {
  const std::string name =
      std::string(table.name) + (selective ? "/selective/" : "/decayed/") + std::to_string(n);
  benchmark::RegisterBenchmark(name.c_str(), [=, &table](benchmark::State& state) {
    const auto numbers = [](int64_t count, float value) {
      return std::vector<float>(static_cast<size_t>(count), value);
    };
    auto states = numbers(rows * n, 0.1f), y = numbers(kTokens * rows, 0);
    const auto x = numbers(kTokens * rows, 0.1f), keys = numbers(kTokens * n, 0.01f);
    const auto decay = numbers(kTokens, 0.9f), rates = numbers(rows * n, -1);
    const RecurrenceArgs args = {states.data(), n, x.data(), rows,     keys.data(),
                                 keys.data(),   n, n,        y.data(), rows,
                                 rows,          n, kTokens};
    for (auto _ : state) {
      if (selective) {
        table.selective(args, {x.data(), rows, rates.data(), n});
      } else {
        table.decayed(args, decay.data());
      }
      benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * kTokens * (2 * rows + 2 * n) * 4);
  });
}

const int registered = [] {
  for (const RecurrenceKernels* table : runnable(recurrence_kernels(), detect_cpu())) {
    add(*table, false, 64, 128);
    add(*table, true, 512, 16);
  }
  return 0;
}();

}  // namespace
}  // namespace pippin::kernels
