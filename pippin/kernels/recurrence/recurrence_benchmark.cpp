// The recurrences of every table that this machine can run, on one thread and 256 tokens: bytes/s
// counts bytes of tokens read and written once; the states stay in the cache.
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "pippin/kernels/recurrence/recurrence.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kTokens = 256;

// Rows of n numbers each: a head of Mamba 2, or features of Mamba.
void add(const RecurrenceKernels& table, const std::string& kind, int64_t rows, int64_t n) {
  const std::string name = std::string(table.name) + "/" + kind + "/" + std::to_string(n);
  benchmark::RegisterBenchmark(name.c_str(), [=, &table](benchmark::State& state) {
    const auto numbers = [](int64_t count, float value) {
      return std::vector<float>(static_cast<size_t>(count), value);
    };
    auto states = numbers(rows * n, 0.1f), y = numbers(kTokens * rows, 0);
    const auto x = numbers(kTokens * rows, 0.1f), keys = numbers(kTokens * n, 0.01f);
    const auto decay = numbers(kTokens, 0.9f), rates = numbers(rows * n, -1);
    auto scratch = numbers(pass_scratch(n), 0);
    const RecurrenceArgs args = {
        states.data(), nullptr, n,    x.data(), rows,    keys.data(), keys.data(), n, n,
        y.data(),      rows,    rows, n,        kTokens, nullptr,     nullptr};
    for (auto _ : state) {
      if (kind == "selective") table.selective(args, {x.data(), rows, rates.data(), n});
      if (kind == "decayed") table.decayed(args, decay.data());
      if (kind == "delta") table.delta(args, {decay.data(), decay.data()});
      if (kind == "decayed_pass") table.decayed_pass(args, decay.data(), scratch.data());
      if (kind == "delta_pass") {
        table.delta_pass(args, {decay.data(), decay.data()}, scratch.data());
      }
      benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * kTokens * (2 * rows + 2 * n) * 4);
  });
}

const int registered = [] {
  for (const RecurrenceKernels* table : runnable(recurrence_kernels(), detect_cpu())) {
    for (const char* kind : {"decayed", "decayed_pass", "delta", "delta_pass"}) {
      add(*table, kind, 64, 128);
    }
    add(*table, "selective", 512, 16);
  }
  return 0;
}();

}  // namespace
}  // namespace pippin::kernels
