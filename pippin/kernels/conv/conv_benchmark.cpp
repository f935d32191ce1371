// The tile and window functions of every table that this machine can run, on one thread, in its
// caches; items are multiply-adds.
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "pippin/kernels/conv/conv.h"

namespace pippin::kernels {
namespace {

void tile(benchmark::State& state, const ConvKernels& table, int64_t m, int64_t k, bool pairs) {
  const std::vector<float> w(static_cast<size_t>(packed_conv_weights(table, m, k)), 0.5F);
  const std::vector<float> x(static_cast<size_t>(k * table.columns), 0.25F);
  std::vector<float> y(static_cast<size_t>(m * table.columns));
  const auto call = pairs ? table.tile_pairs : table.tile;
  for (auto _ : state) {
    call({w.data(), table.rows * k, x.data(), table.columns, nullptr, false, y.data(),
          table.columns, m, table.columns, k});
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * m * k * table.columns * (pairs ? 2 : 1));
}

// A piece of a row, channels-last.
void places(benchmark::State& state, const ConvKernels& table, int64_t k) {
  const std::vector<float> w(static_cast<size_t>(k * table.outputs), 0.5F);
  const std::vector<float> x(static_cast<size_t>(k * kConvPlaces), 0.25F);
  std::vector<float> y(static_cast<size_t>(kConvPlaces * table.outputs));
  std::vector<const float*> pointers;
  for (int64_t i = 0; i < kConvPlaces; ++i) pointers.push_back(&x[i * k]);
  for (auto _ : state) {
    table.channels_last_tile({pointers.data(), 0, 0, 1, k, w.data(), 0, nullptr, false, y.data(),
                              table.outputs, kConvPlaces, table.outputs});
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * k * kConvPlaces * table.outputs);
}

void channels(benchmark::State& state, const ConvKernels& table) {
  constexpr int64_t kChannels = 64, kTaps = 9;
  const std::vector<float> w(kTaps * kChannels, 0.5F);
  const std::vector<float> x(kTaps * kConvPlaces * kChannels, 0.25F);
  std::vector<float> y(kConvPlaces * kChannels);
  std::vector<const float*> pointers;
  for (int64_t i = 0; i < kTaps * kConvPlaces; ++i) pointers.push_back(&x[i * kChannels]);
  for (auto _ : state) {
    table.channels_sum({pointers.data(), 0, 0, kTaps, w.data(), kChannels, nullptr, y.data(),
                        kChannels, kConvPlaces, kChannels});
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * kTaps * kConvPlaces * kChannels);
}

void window(benchmark::State& state, const ConvKernels& table) {
  constexpr int64_t kWidth = 160;
  constexpr int64_t kOffsets[] = {0, 1, 2, 162, 163, 164, 324, 325, 326};
  const std::vector<float> x(3 * 162, 0.5F), w(9, 0.25F);
  std::vector<float> y(kWidth);
  for (auto _ : state) {
    table.window_sum({x.data(), kOffsets, w.data(), 9, 0, y.data(), kWidth});
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * 9 * kWidth);
}

// On the channels of tiles: items are the results of a channel or output.
void winograd_in(benchmark::State& state, const ConvKernels& table) {
  constexpr int64_t kChannels = 64;
  const std::vector<float> x(kWinogradProducts * kChannels, 0.5F);
  std::vector<float> y(kWinogradProducts * kConvPlaces * kChannels);
  std::vector<const float*> pointers;
  for (int64_t i = 0; i < kWinogradProducts * kConvPlaces; ++i) {
    pointers.push_back(&x[i / kConvPlaces * kChannels]);
  }
  for (auto _ : state) {
    table.winograd_in(
        {pointers.data(), kConvPlaces, kChannels, y.data(), kConvPlaces * kChannels, kChannels});
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * kWinogradSide * kWinogradSide * kConvPlaces *
                          kChannels);
}

void winograd_out(benchmark::State& state, const ConvKernels& table) {
  constexpr int64_t kOutputs = 64;
  const std::vector<float> x(kWinogradProducts * kOutputs, 0.5F);
  std::vector<float> y(kWinogradSide * kWinogradSide * kOutputs);
  for (auto _ : state) {
    table.winograd_out({x.data(), kOutputs, nullptr, kOutputs, y.data(), kWinogradSide * kOutputs,
                        kOutputs, kWinogradSide, kWinogradSide});
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * kWinogradSide * kWinogradSide * kOutputs);
}

const int registered = [] {
  for (const ConvKernels* table : runnable(conv_kernels(), detect_cpu())) {
    const std::string name = table->name;
    for (const int64_t k : {64, 128, 192, 256}) {
      for (const bool pairs : {false, true}) {
        benchmark::RegisterBenchmark(
            (name + (pairs ? "/tile_pairs" : "/tile") + "/64x" + std::to_string(k)).c_str(),
            [=](benchmark::State& state) { tile(state, *table, 64, k, pairs); });
      }
    }
    for (const int64_t k : {16, 128, 256}) {
      benchmark::RegisterBenchmark((name + "/places/" + std::to_string(k)).c_str(),
                                   [=](benchmark::State& state) { places(state, *table, k); });
    }
    benchmark::RegisterBenchmark((name + "/channels3x3").c_str(),
                                 [=](benchmark::State& state) { channels(state, *table); });
    benchmark::RegisterBenchmark((name + "/window3x3").c_str(),
                                 [=](benchmark::State& state) { window(state, *table); });
    benchmark::RegisterBenchmark((name + "/winograd_in").c_str(),
                                 [=](benchmark::State& state) { winograd_in(state, *table); });
    benchmark::RegisterBenchmark((name + "/winograd_out").c_str(),
                                 [=](benchmark::State& state) { winograd_out(state, *table); });
  }
  return 0;
}();

}  // namespace
}  // namespace pippin::kernels
