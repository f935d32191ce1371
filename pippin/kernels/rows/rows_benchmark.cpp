// The row functions of every table that this machine can run, on one thread and 8 rows of 2048 (in
// the cache): bytes/s counts bytes read and written once.
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "pippin/kernels/rows/rows.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kRows = 8;
constexpr int64_t kColumns = 2048;

template <typename Body>
void add(const RowsKernels& table, const char* what, int64_t bytes_per_element, Body body) {
  benchmark::RegisterBenchmark(
      (std::string(table.name) + "/" + what).c_str(), [=](benchmark::State& state) {
        std::vector<float> x(kRows * kColumns, 0.5f), other(kRows * kColumns, 0.3f), y(x.size());
        const RowsArgs args = {x.data(), kColumns, y.data(), kColumns, kRows, kColumns};
        for (auto _ : state) {
          body(args, other.data());
          benchmark::ClobberMemory();
        }
        state.SetBytesProcessed(state.iterations() * kRows * kColumns * bytes_per_element);
      });
}

const int registered = [] {
  for (const RowsKernels* table : runnable(rows_kernels(), detect_cpu())) {
    add(*table, "rms_norm", 8,
        [=](const RowsArgs& args, const float* gamma) { table->rms_norm(args, gamma, 1e-5f); });
    add(*table, "layer_norm", 8, [=](const RowsArgs& args, const float* gamma) {
      table->layer_norm(args, gamma, gamma, 1e-5f);
    });
    add(*table, "softmax", 8, [=](const RowsArgs& args, const float*) { table->softmax(args); });
    add(*table, "sum", 4,
        [=](const RowsArgs& args, const float*) { table->reduce(ReduceOp::Sum, args); });
    add(*table, "max", 4,
        [=](const RowsArgs& args, const float*) { table->reduce(ReduceOp::Max, args); });
    add(*table, "gated_silu", 12, [=](const RowsArgs& args, const float* up) {
      table->gated(GateOp::Silu, args, up, kColumns);
    });
    add(*table, "rotary", 16, [=](const RowsArgs& args, const float* angles) {
      table->rotary(args, {angles, angles, kColumns, /*half=*/false});
    });
  }
  return 0;
}();

}  // namespace
}  // namespace pippin::kernels
