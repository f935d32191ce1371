// The elementwise functions of every table that this machine can run, on one thread and 16,384
// elements (in the cache): bytes/s counts bytes read and written.
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "pippin/kernels/elementwise/elementwise.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kCount = 16384;

template <typename Body>
void add(const ElementwiseKernels& table, const char* what, int64_t bytes_per_element, Body body) {
  benchmark::RegisterBenchmark(
      (std::string(table.name) + "/" + what).c_str(), [=](benchmark::State& state) {
        std::vector<float> x(kCount, 0.5f), b(kCount, 1.5f), y(kCount);
        for (auto _ : state) {
          body(x.data(), b.data(), y.data());
          benchmark::ClobberMemory();
        }
        state.SetBytesProcessed(state.iterations() * kCount * bytes_per_element);
      });
}

const int registered = [] {
  for (const ElementwiseKernels* table : runnable(elementwise_kernels(), detect_cpu())) {
    const auto unary = [&](const char* name, UnaryOp op) {
      add(*table, name, 8,
          [=](const float* x, const float*, float* y) { table->unary(op, x, y, kCount, 0, 1); });
    };
    unary("relu", UnaryOp::Relu);
    unary("exp", UnaryOp::Exp);
    unary("log", UnaryOp::Log);
    unary("tanh", UnaryOp::Tanh);
    unary("silu", UnaryOp::Silu);
    unary("gelu", UnaryOp::Gelu);
    unary("gelu_tanh", UnaryOp::GeluTanh);
    unary("sin", UnaryOp::Sin);
    unary("rsqrt", UnaryOp::Rsqrt);
    add(*table, "add", 12, [=](const float* a, const float* b, float* y) {
      table->binary(BinaryOp::Add, a, 1, b, 1, y, kCount);
    });
    add(*table, "mul_scalar", 8, [=](const float* a, const float* b, float* y) {
      table->binary(BinaryOp::Mul, a, 1, b, 0, y, kCount);
    });
    add(*table, "f16_to_f32", 6, [=](const float* x, const float*, float* y) {
      table->f16_to_f32(reinterpret_cast<const uint16_t*>(x), y, kCount);
    });
    add(*table, "f32_to_f16", 6, [=](const float* x, const float*, float* y) {
      table->f32_to_f16(x, reinterpret_cast<uint16_t*>(y), kCount);
    });
  }
  return 0;
}();

}  // namespace
}  // namespace pippin::kernels
