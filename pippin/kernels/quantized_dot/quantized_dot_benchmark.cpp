// Every quantized_dot kernel that this machine can run, on the matrices of a 1B Llama: bytes/s
// counts bytes of compressed weights (compare with pippin-bandwidth); for many rows, use OP/s. One
// thread: compare CPU times if the machine is busy.
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "pippin/kernels/quantized_dot/quantized_dot.h"

namespace pippin::kernels {
namespace {

struct BenchForm {
  const char* name;
  int bits;
  bool is_signed, palette;
  int64_t block_rows, block_columns;  // 0: all
  OffsetType offsets;
};

constexpr BenchForm kForms[] = {
    {"int4_block32", 4, true, false, 1, 32, OffsetType::None},
    {"uint4_block32_offsets", 4, false, false, 1, 32, OffsetType::U4},
    {"int4_block128", 4, true, false, 1, 128, OffsetType::None},
    {"uint4_block128_offsets", 4, false, false, 1, 128, OffsetType::U4},       // as in AWQ
    {"uint4_block64_float_offsets", 4, false, false, 1, 64, OffsetType::F32},  // as in MLX
    {"int4_channel", 4, true, false, 1, 0, OffsetType::None},
    {"int8_channel", 8, true, false, 1, 0, OffsetType::None},
    {"int8_block32", 8, true, false, 1, 32, OffsetType::None},
    {"lut1", 1, false, true, 0, 0, OffsetType::None},
    {"lut2", 2, false, true, 0, 0, OffsetType::None},
    {"lut3", 3, false, true, 0, 0, OffsetType::None},
    {"lut4_grouped16", 4, false, true, 16, 0, OffsetType::None},
    {"lut6_grouped16", 6, false, true, 16, 0, OffsetType::None},
    {"lut8_grouped16", 8, false, true, 16, 0, OffsetType::None},
};

// A compressed matrix; its numbers only need to be finite.
struct Weights {
  Weights(const BenchForm& form, int64_t n, int64_t k) {
    w.n = n;
    w.k = k;
    w.bits = form.bits;
    w.is_signed = form.is_signed;
    w.block_rows = form.block_rows == 0 ? n : form.block_rows;
    w.block_columns = form.block_columns == 0 ? k : form.block_columns;
    w.blocks_per_row = k / w.block_columns;
    const int64_t blocks = n / w.block_rows * w.blocks_per_row;
    codes.assign(static_cast<size_t>(n * k * form.bits / 8), 0x5a);
    w.codes = codes.data();
    size = static_cast<int64_t>(codes.size());
    if (form.palette) {
      halves.assign(static_cast<size_t>(blocks << form.bits), 0x2400);
      w.palettes = halves.data();
      w.palette_type = WeightType::F16;
      palettes = make_byte_palettes(halves.data(), WeightType::F16, form.bits, blocks);
      w.byte_palettes = palettes.bytes.data();
      w.byte_scales = palettes.scales.data();
      return;
    }
    halves.assign(static_cast<size_t>(blocks), 0x2400);
    w.scales = halves.data();
    w.scale_type = WeightType::F16;
    size += 2 * blocks;
    w.offset_type = form.offsets;
    const int64_t offset_bytes = form.offsets == OffsetType::None  ? 0
                                 : form.offsets == OffsetType::F32 ? blocks * 4
                                                                   : blocks / 2;
    offsets.assign(static_cast<size_t>(offset_bytes), 0x33);
    w.offsets = offsets.data();
    size += offset_bytes;
  }
  QuantizedMatrix w{};
  std::vector<uint8_t> codes, offsets;
  std::vector<uint16_t> halves;
  BytePalettes palettes;
  int64_t size = 0;
};

constexpr int64_t kInCache = 256;  // rows of a matrix that stays in the cache

std::byte* aligned(std::vector<std::byte>& memory, int64_t size) {
  memory.resize(static_cast<size_t>(size) + 64);
  const auto at = reinterpret_cast<uintptr_t>(memory.data());
  return memory.data() + (64 - at % 64) % 64;
}

void run_dot(benchmark::State& state, const QuantizedDotKernels& kernels, const BenchForm& form) {
  const int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  // Several matrices in turn, so that a decode step finds its weights in memory, not in the cache;
  // but a single small one, which shows the limit of the arithmetic.
  std::vector<Weights> weights;
  weights.reserve(64);
  const bool one = m > 16 || n <= kInCache;
  const int64_t copies = one ? 1 : (int64_t{128} << 20) / (n * k * form.bits / 8) + 1;
  for (int64_t i = 0; i < copies && i < 64; ++i) weights.emplace_back(form, n, k);
  const std::vector<float> x(static_cast<size_t>(m * k), 0.5F);
  std::vector<float> y(static_cast<size_t>(m * n));
  QuantizedRows rows = quantized_form(kernels, weights[0].w, m);
  std::vector<std::byte> quantized, scratch;
  place_quantized(rows, aligned(quantized, quantized_bytes(rows)));
  std::byte* memory = aligned(scratch, quantized_dot_scratch_bytes());
  size_t next = 0;
  for (auto _ : state) {
    kernels.quantize(x.data(), k, 0, m, rows);
    kernels.dot({&weights[next].w, &rows, nullptr, y.data(), n, 0, n, memory});
    next = (next + 1) % weights.size();
  }
  state.SetBytesProcessed(state.iterations() * weights[0].size);
  state.counters["OP/s"] = benchmark::Counter(static_cast<double>(2 * m * n * k),
                                              benchmark::Counter::kIsIterationInvariantRate);
}

void run_expand(benchmark::State& state, const QuantizedDotKernels& kernels,
                const BenchForm& form) {
  const Weights weights(form, 256, 2048);
  std::vector<float> y(2048);
  for (auto _ : state) {
    for (int64_t i = 0; i < weights.w.n; ++i) kernels.expand(weights.w, i, 0, 2048, y.data());
  }
  state.SetItemsProcessed(state.iterations() * 256 * 2048);
}

const int registered = [] {
  for (const QuantizedDotKernels* kernels : runnable(quantized_dot_kernels(), detect_cpu())) {
    for (const BenchForm& form : kForms) {
      const std::string name = std::string(kernels->name) + "/" + form.name;
      auto* bench = benchmark::RegisterBenchmark(
          name.c_str(),
          [kernels, &form](benchmark::State& state) { run_dot(state, *kernels, form); });
      bench->ArgNames({"m", "n", "k"})->Unit(benchmark::kMicrosecond);
      for (const int64_t m : {1, 2, 4, 8, 16, 128}) bench->Args({m, 5504, 2048});
      bench->Args({1, 2048, 5504});
      for (const int64_t m : {1, 4, 8, 16}) bench->Args({m, kInCache, 2048});
      benchmark::RegisterBenchmark(
          ("expand_" + name).c_str(),
          [kernels, &form](benchmark::State& state) { run_expand(state, *kernels, form); });
    }
  }
  return 0;
}();

}  // namespace
}  // namespace pippin::kernels
