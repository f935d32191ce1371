#include "pippin/compress/blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/numbers/float16.h"

namespace pippin::compress {
namespace {

using mil::DataType;

// Blocks with every kind of edge case among random ones.
std::vector<float> ugly_blocks(size_t count, size_t size, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0.0f, 0.03f);
  std::vector<float> values(count * size);
  for (size_t block = 0; block < count; ++block) {
    float* at = values.data() + block * size;
    const auto kind = generator() % 9;
    for (size_t i = 0; i < size; ++i) {
      const float x = normal(generator);
      at[i] = x;
      if (kind == 0) at[i] = 0;
      if (kind == 1) at[i] = -0.17f;
      if (kind == 2) at[i] = std::ldexp(x, -19);  // denormal in fp16
      if (kind == 3) at[i] = 3 + x;
      if (kind == 4) at[i] = std::ldexp(x, 18);
    }
    if (kind == 5) at[size / 2] = 9.5f;
    if (kind == 6) at[0] = -30000.0f;
    for (size_t i = 0; i < size; ++i) at[i] = to_float(to_float16(at[i]));
  }
  return values;
}

double error_of(std::span<const float> values, std::span<const float> weights,
                const LinearScale& scale, const LinearFormat& format) {
  double error = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double q =
        std::clamp(std::nearbyint(double{values[i]} / double{scale.scale}) + scale.offset,
                   double(format.lowest()), double(format.highest()));
    const double difference = double{values[i]} - (q - scale.offset) * double{scale.scale};
    error += difference * difference * (weights.empty() ? 1.0 : double{weights[i]});
  }
  return error;
}

TEST(Blocks, AsGoodAsOneByOne) {
  constexpr size_t kCount = 211;
  for (const bool weighted : {false, true}) {
    for (const bool symmetric : {true, false}) {
      for (const DataType type :
           {DataType::Int4, DataType::UInt4, DataType::Int8, DataType::UInt8}) {
        for (const size_t size : {1u, 3u, 16u, 32u, 33u, 64u, 128u, 512u}) {
          SCOPED_TRACE(fmt::format("weighted {} symmetric {} {} size {}", weighted, symmetric,
                                   mil::to_string(type), size));
          const LinearFormat format{type, symmetric, DataType::Float16};
          const auto values = ugly_blocks(kCount, size, static_cast<uint32_t>(size));
          std::vector<float> weights;
          for (size_t i = 0; weighted && i < values.size(); ++i) {
            weights.push_back(static_cast<float>(i % 7 * i % 5) + 0.25f);
          }
          BlockQuantizer quantizer(format, size, weighted);
          double sum = 0, slow_sum = 0;
          for (size_t block = 0; block < kCount; block += BlockQuantizer::kBatch) {
            const size_t some = std::min(BlockQuantizer::kBatch, kCount - block);
            const auto part = [&](const std::vector<float>& of, size_t from, size_t n) {
              return of.empty() ? std::span<const float>() : std::span(of).subspan(from, n);
            };
            quantizer.choose(part(values, block * size, some * size),
                             part(weights, block * size, some * size), some);
            for (size_t i = 0; i < some; ++i) {
              const auto one = part(values, (block + i) * size, size);
              const auto w = part(weights, (block + i) * size, size);
              const LinearScale scale = {quantizer.scales()[i],
                                         static_cast<int>(quantizer.offsets()[i])};
              ASSERT_TRUE(std::isfinite(scale.scale) && scale.scale != 0);
              ASSERT_GE(scale.offset, format.lowest());
              ASSERT_LE(scale.offset, format.highest());
              double energy = 0, largest = 0;
              for (const float x : one) {
                energy += double{x} * double{x};
                largest = std::max(largest, std::abs(double{x}));
              }
              const double error = error_of(one, w, scale, format);
              const double slow = error_of(one, w, choose_scale(one, w, format), format);
              // Relative, so that blocks of every magnitude count.
              sum += error / (energy + 1e-30);
              slow_sum += slow / (energy + 1e-30);
              if (!symmetric) continue;
              const float plain = to_float(
                  to_float16(static_cast<float>(largest / (format.highest() - format.middle()))));
              if (plain == 0) continue;
              EXPECT_LE(error, error_of(one, w, {plain, format.middle()}, format) * (1 + 1e-4) +
                                   1e-12 * energy);
            }
          }
          EXPECT_LE(sum, slow_sum * 1.01 + 1e-9);
        }
      }
    }
  }
}

TEST(Blocks, PackedCodesAreTheCodes) {
  for (const size_t size : {2u, 16u, 32u, 34u, 256u}) {
    for (const DataType type : {DataType::Int4, DataType::UInt4}) {
      const LinearFormat format{type, false, DataType::Float32};
      constexpr size_t kCount = 13;
      const auto values = ugly_blocks(kCount, size, 3);
      BlockQuantizer quantizer(format, size);
      quantizer.choose(values, {}, kCount);
      std::vector<uint8_t> codes(values.size()), bytes(values.size() / 2 + 1, 0xee);
      quantizer.encode(values, kCount, codes.data());
      const double error = quantizer.squared_error, energy = quantizer.energy;
      quantizer.squared_error = quantizer.energy = 0;
      quantizer.encode_packed(values, kCount, bytes.data());
      EXPECT_NEAR(quantizer.squared_error, error, 1e-4 * error);
      EXPECT_NEAR(quantizer.energy, energy, 1e-5 * energy);
      for (size_t i = 0; i < codes.size(); ++i) {
        ASSERT_EQ(bytes[i / 2] >> (i % 2 * 4) & 15, codes[i] & 15) << i;
      }
      EXPECT_EQ(bytes.back(), 0xee);
    }
  }
}

TEST(Blocks, HugeFloatsKeepAScale) {
  const LinearFormat format{DataType::Int4, true, DataType::Float32};
  const std::vector<float> values(32, 2e30f);  // their squares overflow
  BlockQuantizer quantizer(format, values.size());
  quantizer.choose(values, {}, 1);
  for (const float scale : {quantizer.scales()[0], choose_scale(values, {}, format).scale}) {
    EXPECT_NEAR(std::abs(scale) * 7, 2e30f, 3e29f);
  }
}

}  // namespace
}  // namespace pippin::compress
