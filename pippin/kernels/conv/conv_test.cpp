#include "pippin/kernels/conv/conv.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pippin::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kGuard = -77;

std::vector<const ConvKernels*> tables_here() {
  return runnable(conv_kernels(), detect_cpu());
}

std::vector<float> normal(int64_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution(0.1F, 1);
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) value = distribution(random);
  return values;
}

void expect_near(const std::vector<float>& got, const std::vector<float>& want, float absolute) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::isfinite(want[i])) {
      ASSERT_NEAR(got[i], want[i], std::fabs(want[i]) * 3e-6F + absolute) << i;
    } else {
      ASSERT_TRUE(got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i])))
          << i << ": " << got[i] << " instead of " << want[i];
    }
  }
}

void make_ugly(std::vector<float>& x) {
  for (size_t i = 0; i < x.size(); i += 11) x[i] = i % 3 == 0 ? NAN : i % 3 == 1 ? kInf : -kInf;
}

class Conv : public testing::TestWithParam<const ConvKernels*> {};

// y = w · x through the panels of a table.
std::vector<float> product(const ConvKernels& table, const std::vector<float>& w,
                           const std::vector<float>& x, const float* bias, int64_t m, int64_t n,
                           int64_t k, bool in_two) {
  std::vector<float> panels(static_cast<size_t>(packed_conv_weights(table, m, k)));
  for (int64_t i = 0; i < m; ++i) pack_conv_weights(table, &w[i * k], k, 1, i, panels.data());
  std::vector<float> columns(static_cast<size_t>(k * table.columns), kInf);
  table.pack({x.data(), 1, n, columns.data(), table.columns, k, 0, n, table.columns - n, 0});
  const int64_t stride = n + 3;
  std::vector<float> y(static_cast<size_t>(m * stride), kGuard);
  ConvTileArgs args{panels.data(),
                    table.rows * k,
                    columns.data(),
                    table.columns,
                    bias,
                    false,
                    y.data(),
                    stride,
                    m,
                    n,
                    k};
  if (in_two) {
    args.k = k / 2;
    table.tile(args);
    args.w += args.k * table.rows;
    args.x += args.k * table.columns;
    args.k = k - args.k;
    args.add = true;
  }
  table.tile(args);
  return y;
}

TEST_P(Conv, Tiles) {
  const ConvKernels& table = *GetParam();
  for (const int64_t m : {1, 2, 4, 5, 7, 8, 9, 19}) {
    for (int64_t n = 1; n <= conv_scalar.columns && n <= table.columns; ++n) {
      for (const int64_t k : {0, 1, 5, 33}) {
        const auto w = normal(m * k + 1, 1), x = normal(k * n + 1, 2), bias = normal(m, 3);
        const float* start = n % 2 == 0 ? bias.data() : nullptr;
        const auto want = product(conv_scalar, w, x, start, m, n, k, false);
        const auto got = product(table, w, x, start, m, n, k, false);
        expect_near(got, want, 1e-5F);
        expect_near(product(table, w, x, start, m, n, k, true), want, 1e-5F);
      }
    }
  }
}

// Column counts other than the scalar tile's, one by one.
TEST_P(Conv, TilesOfEveryWidth) {
  const ConvKernels& table = *GetParam();
  constexpr int64_t m = 11, k = 20;
  const auto w = normal(m * k, 1), x = normal(k * table.columns, 2);
  for (int64_t n = 1; n <= table.columns; ++n) {
    std::vector<float> part;
    for (int64_t i = 0; i < k; ++i) {
      part.insert(part.end(), &x[i * table.columns], &x[i * table.columns] + n);
    }
    const auto got = product(table, w, part, nullptr, m, n, k, false);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n + 3; ++j) {
        double want = j < n ? 0 : kGuard;
        for (int64_t l = 0; j < n && l < k; ++l) want += w[i * k + l] * x[l * table.columns + j];
        ASSERT_NEAR(got[i * (n + 3) + j], want, 1e-5) << n << " at " << i << ", " << j;
      }
    }
  }
}

TEST_P(Conv, TilesKeepInfinitiesToTheirPlaces) {
  const ConvKernels& table = *GetParam();
  constexpr int64_t m = 9, n = 5, k = 4;
  auto w = normal(m * k, 1), x = normal(k * n, 2);
  x[2] = kInf;
  x[n + 3] = NAN;
  w[5 * k] = -kInf;
  expect_near(product(table, w, x, nullptr, m, n, k, false),
              product(conv_scalar, w, x, nullptr, m, n, k, false), 1e-5F);
}

// 16-bit integers in the place of floats, two per float.
std::vector<float> integers(int64_t n, int most, uint32_t seed, std::vector<int16_t>& values) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> distribution(-most, most);
  values.clear();
  for (int64_t i = 0; i < 2 * n; ++i) {
    const bool extreme = random() % 8 == 0;
    values.push_back(
        static_cast<int16_t>(extreme ? (random() % 2 == 0 ? most : -most) : distribution(random)));
  }
  std::vector<float> pairs(static_cast<size_t>(n));
  std::memcpy(pairs.data(), values.data(), pairs.size() * sizeof(float));
  return pairs;
}

TEST_P(Conv, TilesOfPairs) {
  const ConvKernels& table = *GetParam();
  for (const int64_t m : {1, 2, 4, 5, 7, 8, 9, 19}) {
    for (int64_t n = 1; n <= table.columns; ++n) {
      for (const int64_t k : {0, 1, 5, 33}) {
        SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k));
        std::vector<int16_t> of_w, of_x;
        const auto w = integers(m * k + 1, 255, 1, of_w);
        const auto x = integers(k * table.columns + 1, 383, 2, of_x);
        const auto bias = normal(m, 3), scales = normal(m, 4);
        const bool has_bias = n % 2 == 0;
        std::vector<float> panels(static_cast<size_t>(packed_conv_weights(table, m, k)) + 1);
        for (int64_t i = 0; i < m; ++i) pack_conv_weights(table, &w[i * k], k, 1, i, panels.data());
        const int64_t stride = n + 3;
        std::vector<float> y(static_cast<size_t>(m * stride), kGuard);
        ConvTileArgs args{panels.data(),
                          table.rows * k,
                          x.data(),
                          table.columns,
                          has_bias ? bias.data() : nullptr,
                          false,
                          y.data(),
                          stride,
                          m,
                          n,
                          k / 2};
        table.tile_pairs(args);
        args.w += args.k * table.rows;
        args.x += args.k * table.columns;
        args.k = k - args.k;
        args.add = true;
        args.scales = scales.data();
        table.tile_pairs(args);
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t j = 0; j < stride; ++j) {
            int64_t sum = 0;
            for (int64_t l = 0; j < n && l < 2 * k; ++l) {
              sum += of_w[i * 2 * k + l] * of_x[(l / 2 * table.columns + j) * 2 + l % 2];
            }
            const float want =
                j >= n ? kGuard
                       : std::fma(static_cast<float>(sum), scales[i], has_bias ? bias[i] : 0.0F);
            ASSERT_EQ(y[i * stride + j], want) << i << ", " << j;
          }
        }
      }
    }
  }
}

TEST_P(Conv, Packs) {
  for (const int64_t count : {0, 1, 3, 8, 15, 16, 17, 40}) {
    for (const int64_t edge : {0, 1, 5, 20}) {
      for (const int64_t step : {1, 2, 5}) {
        const auto x = normal(3 * (count * step + 1), 4);
        const int64_t stride = 2 * edge + count + 2;
        std::vector<float> want(static_cast<size_t>(3 * stride), kGuard), got = want;
        const auto args = [&](std::vector<float>& y) {
          return ConvPackArgs{x.data(), step, count * step + 1, y.data(), stride, 3, edge, count,
                              edge,     -kInf};
        };
        conv_scalar.pack(args(want));
        GetParam()->pack(args(got));
        EXPECT_EQ(got, want);
      }
    }
  }
}

TEST_P(Conv, Windows) {
  std::vector<int64_t> offsets = {0, 1, 2, 31, 32, 64, 7};
  while (offsets.size() < 40) offsets.push_back(static_cast<int64_t>(offsets.size()));
  for (const int64_t n : {0, 1, 3, 8, 16, 17, 63, 64, 65, 130}) {
    for (const int64_t taps : {0, 1, 7, 16, 40}) {
      for (const bool ugly : {false, true}) {
        auto x = normal(n + 64, 5);
        const auto w = normal(40, 6);
        if (ugly) make_ugly(x);
        std::vector<float> want(static_cast<size_t>(n + 2), kGuard), got = want;
        const auto args = [&](std::vector<float>& y, float start) {
          return ConvWindowArgs{x.data(), offsets.data(), w.data(), taps, start, y.data(), n};
        };
        conv_scalar.window_sum(args(want, 0.5F));
        GetParam()->window_sum(args(got, 0.5F));
        expect_near(got, want, 1e-5F);
        conv_scalar.window_max(args(want, -kInf));
        GetParam()->window_max(args(got, -kInf));
        expect_near(got, want, 0);
      }
    }
  }
}

constexpr ConvBounds kSomeBounds = {-0.25F, 1.5F};
float within(const ConvBounds& bounds, float x) {
  return std::isnan(x) ? x : std::clamp(x, bounds.least, bounds.most);
}

constexpr int64_t kTiles = 3;
// Pointers [tiles][taps][kConvPlaces] to random elements of x, with repetitions.
std::vector<const float*> pointers_into(const std::vector<float>& x, int64_t taps, int64_t channels,
                                        uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<const float*> pointers;
  const auto most = static_cast<uint32_t>(static_cast<int64_t>(x.size()) - channels + 1);
  // The pointers must be valid even without taps.
  for (int64_t i = 0; i < std::max(kTiles * taps, int64_t{1}) * kConvPlaces; ++i)
    pointers.push_back(x.data() + random() % most);
  return pointers;
}

TEST_P(Conv, TilesOfPlaces) {
  const ConvKernels& table = *GetParam();
  for (const int64_t n : {1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 47, 48, 63, 64}) {
    if (n > table.outputs) break;
    for (int64_t places = 1; places <= kTiles * kConvPlaces; places += places < 7 ? 1 : 4) {
      for (const auto& [taps, channels] : {std::pair(0, 1), std::pair(1, 37), std::pair(9, 5)}) {
        SCOPED_TRACE(std::to_string(n) + " of " + std::to_string(places) + " places, " +
                     std::to_string(taps) + " taps");
        const bool ugly = places == 3;
        auto x = normal(200, 5);
        if (ugly) make_ugly(x);
        const auto w = normal(n * channels * taps + 1, 6), bias = normal(n, 7);
        std::vector<float> panels(
            static_cast<size_t>(packed_channels_last_weights(table, n, channels * taps)) + 1);
        for (int64_t i = 0; i < n; ++i) {
          pack_channels_last_weights(table, &w[i * channels * taps], channels, taps, i,
                                     panels.data());
        }
        const auto pointers = pointers_into(x, taps, channels + 2, 8);
        const int64_t stride = n + 3;
        std::vector<float> y(static_cast<size_t>(kTiles * kConvPlaces * stride), kGuard), want = y;
        ChannelsLastConvArgs args{pointers.data(),
                                  taps * kConvPlaces,
                                  2,
                                  taps / 2,
                                  channels,
                                  panels.data(),
                                  channels * table.outputs,
                                  places % 2 == 0 ? bias.data() : nullptr,
                                  false,
                                  y.data(),
                                  stride,
                                  places,
                                  n};
        table.channels_last_tile(args);
        args.x += args.taps * kConvPlaces;
        args.w += args.taps * args.w_stride;
        args.taps = taps - args.taps;
        args.add = true;
        if (places == 3 || places == 4) args.bounds = kSomeBounds;
        table.channels_last_tile(args);
        for (int64_t i = 0; i < places; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            double sum = places % 2 == 0 ? bias[j] : 0;
            for (int64_t k = 0; k < taps * channels; ++k) {
              sum +=
                  static_cast<double>(w[j * channels * taps + k % channels * taps + k / channels]) *
                  pointers[(i / kConvPlaces * taps + k / channels) * kConvPlaces + i % kConvPlaces]
                          [2 + k % channels];
            }
            want[i * stride + j] = within(args.bounds, static_cast<float>(sum));
          }
        }
        expect_near(y, want, 1e-5F);
      }
    }
  }
}

TEST_P(Conv, WindowsOfChannels) {
  const ConvKernels& table = *GetParam();
  for (const int64_t n : {0, 1, 3, 4, 8, 9, 16, 17, 33, 64}) {
    for (const int64_t taps : {0, 1, 9, 16, 40}) {
      for (int64_t places = 1; places <= kTiles * kConvPlaces; places += places < 7 ? 1 : 4) {
        auto x = normal(300, 5);
        if (places == 2) make_ugly(x);
        const auto w = normal(40 * (n + 2), 6), bias = normal(n + 1, 7);
        const auto pointers = pointers_into(x, taps, n + 2, 8);
        const int64_t stride = n + 3;
        std::vector<float> want(static_cast<size_t>(kTiles * kConvPlaces * stride), kGuard),
            got = want;
        const auto args = [&](std::vector<float>& y) {
          return ConvChannelsArgs{pointers.data(),
                                  taps * kConvPlaces,
                                  2,
                                  taps,
                                  places == 4 ? nullptr : w.data(),
                                  n + 2,
                                  places == 5 ? nullptr : bias.data(),
                                  y.data(),
                                  stride,
                                  places,
                                  n};
        };
        conv_scalar.channels_sum(args(want));
        table.channels_sum(args(got));
        expect_near(got, want, 1e-5F);
        conv_scalar.channels_max(args(want));
        table.channels_max(args(got));
        expect_near(got, want, 0);
      }
    }
  }
}

// Elements of x read by taps at the positions of a row, `step` apart, and the same position by
// position.
struct RowOfPlaces {
  std::vector<const float*> taps, places;
};
RowOfPlaces row_of_places(const std::vector<float>& x, int64_t taps, int64_t step,
                          int64_t together) {
  RowOfPlaces row;
  for (int64_t tap = 0; tap < taps; ++tap) {
    row.taps.push_back(x.data() + tap / together * 7 + tap % together * step);
  }
  for (int64_t tile = 0; tile < kTiles; ++tile) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      for (int64_t i = 0; i < kConvPlaces; ++i) {
        row.places.push_back(row.taps[static_cast<size_t>(tap)] + (tile * kConvPlaces + i) * step);
      }
    }
  }
  row.taps.push_back(nullptr);
  row.places.push_back(nullptr);
  return row;
}

TEST_P(Conv, RowsOfPlacesAreAsTheirPlaces) {
  const ConvKernels& table = *GetParam();
  for (const int64_t n : {1, 8, 17, 64}) {
    if (n > table.outputs) break;
    for (int64_t count = 1; count <= kTiles * kConvPlaces; ++count) {
      for (const auto& [taps, channels] : {std::pair(0, 1), std::pair(1, 37), std::pair(9, 5)}) {
        const int64_t step = channels + 3;
        auto x = normal(taps * 7 + kTiles * kConvPlaces * step + channels + 2, 5);
        if (count == 5) make_ugly(x);
        const RowOfPlaces row = row_of_places(x, taps, step, 1);
        const auto panels = normal(packed_channels_last_weights(table, n, channels * taps) + 1, 6);
        const auto bias = normal(n, 7);
        std::vector<float> want(static_cast<size_t>(kTiles * kConvPlaces * n), kGuard), got = want;
        ChannelsLastConvArgs args{row.places.data(),
                                  taps * kConvPlaces,
                                  2,
                                  taps,
                                  channels,
                                  panels.data(),
                                  channels * table.outputs,
                                  bias.data(),
                                  false,
                                  want.data(),
                                  n,
                                  count,
                                  n};
        table.channels_last_tile(args);
        for (float& element : want)
          element = element == kGuard ? kGuard : within(kSomeBounds, element);
        args.bounds = kSomeBounds;
        args.x = row.taps.data();
        args.x_step = step;
        args.y = got.data();
        table.channels_last_tile(args);
        expect_near(got, want, 0);
      }
    }
  }
}

TEST_P(Conv, RowsOfChannelsAreAsTheirPlaces) {
  const ConvKernels& table = *GetParam();
  for (const int64_t n : {0, 1, 4, 9, 16, 33}) {
    for (const auto& [taps, together] : {std::pair(0, 1), std::pair(4, 1), std::pair(9, 3),
                                         std::pair(9, 1), std::pair(25, 5), std::pair(25, 1)}) {
      for (int64_t count = 1; count <= kTiles * kConvPlaces; ++count) {
        const int64_t step = n + 2;
        auto x = normal(taps * 7 + (kTiles * kConvPlaces + together) * step + n + 2, 5);
        if (count == 5 || count == 7) make_ugly(x);
        const RowOfPlaces row = row_of_places(x, taps, step, together);
        const auto w = normal(25 * n + 1, 6), bias = normal(n + 1, 7);
        std::vector<float> want(static_cast<size_t>(kTiles * kConvPlaces * (n + 1)), kGuard);
        std::vector<float> got = want;
        const auto args = [&, taps = taps, together = together](std::vector<float>& y,
                                                                bool in_row) {
          return ConvChannelsArgs{in_row ? row.taps.data() : row.places.data(),
                                  taps * kConvPlaces,
                                  2,
                                  taps,
                                  count == 4 ? nullptr : w.data(),
                                  n,
                                  count == 6 ? nullptr : bias.data(),
                                  y.data(),
                                  n + 1,
                                  count,
                                  n,
                                  in_row ? step : 0,
                                  in_row ? together : 1,
                                  count % 2 == 1 ? kSomeBounds : ConvBounds{}};
        };
        conv_scalar.channels_sum(args(want, false));
        table.channels_sum(args(got, true));
        expect_near(got, want, 1e-5F);
        conv_scalar.channels_max(args(want, false));
        table.channels_max(args(got, true));
        expect_near(got, want, 0);
      }
    }
  }
}

// The sums of 3 x 3 weights at every tile's positions, using the transformed panels.
TEST_P(Conv, WinogradSums) {
  const ConvKernels& table = *GetParam();
  for (const auto& [outputs, channels] : {std::pair(5, 7), std::pair(17, 16), std::pair(1, 33)}) {
    const auto w = normal(outputs * channels * 9, 7), bias = normal(outputs, 8);
    const int64_t size = packed_channels_last_weights(table, outputs, channels);
    std::vector<float> panels(static_cast<size_t>(size * kWinogradProducts));
    for (int64_t i = 0; i < outputs; ++i) {
      pack_winograd_weights(table, &w[i * channels * 9], channels, outputs, i, panels.data());
    }
    for (int64_t tiles = 1; tiles <= kConvPlaces; ++tiles) {
      const auto x = normal(2000, 9);
      const auto seen = pointers_into(x, kWinogradProducts, channels, 10);
      const int64_t tile_stride = channels + 1, stride = kConvPlaces * tile_stride + 5;
      std::vector<float> elements(static_cast<size_t>(kWinogradProducts * stride), kInf);
      table.winograd_in({seen.data(), tiles, channels, elements.data(), stride, tile_stride});
      std::vector<const float*> pointers;
      for (int64_t t = 0; t < kConvPlaces; ++t) {
        pointers.push_back(elements.data() + std::min(t, tiles - 1) * tile_stride);
      }
      const int64_t apart = kConvPlaces * outputs + 3;
      std::vector<float> products(static_cast<size_t>(kWinogradProducts * apart), kInf);
      for (int64_t first = 0; first < outputs; first += table.outputs) {
        for (int64_t i = 0; i < kWinogradProducts; ++i) {
          table.channels_last_tile({pointers.data(), kConvPlaces, i * stride, 1, channels,
                                    &panels[i * size + first * channels], 0, nullptr, false,
                                    &products[i * apart + first], outputs, tiles,
                                    std::min<int64_t>(table.outputs, outputs - first)});
        }
      }
      const int64_t rows = 1 + tiles % kWinogradSide, columns = kWinogradSide - tiles % 3;
      for (int64_t t = 0; t < tiles; ++t) {
        const int64_t column = outputs + 2, row = kWinogradSide * column;
        std::vector<float> y(static_cast<size_t>(kWinogradSide * row), kGuard);
        table.winograd_out({&products[t * outputs], apart, t % 2 == 0 ? bias.data() : nullptr,
                            outputs, y.data(), row, column, rows, columns});
        for (int64_t at = 0; at < kWinogradSide * row; ++at) {
          const int64_t h = at / row, v = at % row / column, n = at % column;
          const bool is_written = h < rows && v < columns && n < outputs;
          double want = !is_written ? kGuard : t % 2 == 0 ? bias[n] : 0;
          for (int64_t k = 0; is_written && k < channels * 9; ++k) {
            const int64_t i = (h + k % 9 / 3) * kWinogradReach + v + k % 3;
            want += static_cast<double>(w[n * channels * 9 + k]) * seen[i * kConvPlaces + t][k / 9];
          }
          ASSERT_NEAR(y[at], want, 5e-4) << tiles << " tiles, tile " << t << ", " << at;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, Conv, testing::ValuesIn(tables_here()),
                         [](const auto& test) { return std::string(test.param->name); });

}  // namespace
}  // namespace pippin::kernels
