#include "pippin/engine/cpu/expert_matrices.h"

#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/numbers/float16.h"
#include "pippin/engine/weights/e4m7_weight.h"

namespace pippin::engine {
namespace {

constexpr int64_t kStackExperts = 3, kStackRows = 48, kStackColumns = 200;

// fp16 values of bf16 numbers; every `outliers`-th does not fit its row's scale.
std::vector<float16> halves(int64_t outliers) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 0.02f);
  std::vector<float16> weights(static_cast<size_t>(kStackExperts * kStackRows * kStackColumns));
  for (size_t i = 0; i < weights.size(); ++i) {
    const bool outlier = outliers != 0 && i % static_cast<size_t>(outliers) == 0;
    weights[i] = to_float16(outlier ? 300.0f : to_float(to_bfloat16(normal(random))));
  }
  return weights;
}

std::shared_ptr<const E4M7Weight> packed(const std::vector<float16>& weights) {
  const int64_t rows = kStackExperts * kStackRows;
  const auto size = static_cast<size_t>(kernels::e4m7_bytes(rows, kStackColumns));
  auto memory = std::make_shared<std::vector<std::byte>>(size);
  const kernels::E4M7Parts parts = kernels::e4m7_parts(memory->data(), rows, kStackColumns);
  uint32_t begin = 0;
  for (int64_t i = 0; i < rows; ++i) {
    std::vector<kernels::E4M7Exception> exceptions(kStackColumns);
    const auto* from = reinterpret_cast<const std::byte*>(weights.data() + i * kStackColumns);
    const kernels::E4M7Row row =
        kernels::pack_e4m7_row(kernels::WeightType::F16, from, kStackColumns,
                               parts.codes + i * parts.row_bytes, exceptions.data(), kStackColumns);
    parts.scales[i] = row.scale;
    parts.begins[i] = begin;
    for (int64_t e = 0; e < row.num_exceptions; ++e) parts.exceptions[begin++] = exceptions[e];
  }
  parts.begins[rows] = begin;
  EXPECT_LE(begin, kernels::most_e4m7_exceptions(rows, kStackColumns));
  auto weight = std::make_shared<E4M7Weight>();
  weight->matrix = kernels::e4m7_matrix(memory->data(), rows, kStackColumns);
  weight->bytes = SharedBytes(memory, memory->data());
  return weight;
}

// Rows `rows` of x times an expert, formed and multiplied by its matrices, in two parts.
std::vector<float> products(const ExpertMatrices& matrices, int64_t expert,
                            const std::vector<float>& x, const std::vector<int32_t>& rows,
                            const float* bias) {
  const auto count = static_cast<int64_t>(rows.size());
  std::vector<float> formed(static_cast<size_t>(matrices.formed_bytes(count)) / sizeof(float) + 16);
  void* at = formed.data();
  size_t space = formed.size() * sizeof(float);
  auto* memory = static_cast<std::byte*>(std::align(64, space - 64, at, space));
  matrices.form({x.data(), kStackColumns, count, rows.data()}, memory);
  std::vector<float> y(static_cast<size_t>(count * (kStackRows + 1)));
  const int64_t middle = matrices.grain();
  EXPECT_LT(middle, kStackRows);
  for (const auto& [begin, end] : {std::pair{int64_t{0}, middle}, std::pair{middle, kStackRows}}) {
    matrices.dot(expert, memory, count, bias, y.data(), kStackRows + 1, begin, end, nullptr);
  }
  return y;
}

TEST(ExpertMatrices, In12BitsGiveTheProductsOfHalves) {
  const CpuFeatures cpu = detect_cpu();
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> x(40 * kStackColumns), bias(kStackRows);
  for (float& value : x) value = normal(random);
  for (float& value : bias) value = normal(random);
  for (const int64_t outliers : {int64_t{0}, int64_t{1009}}) {
    const std::vector<float16> weights = halves(outliers);
    std::vector<const std::byte*> places;
    for (int64_t i = 0; i < kStackExperts; ++i) {
      places.push_back(
          reinterpret_cast<const std::byte*>(weights.data() + i * kStackRows * kStackColumns));
    }
    const auto dense =
        dense_experts(places, kStackRows, kStackColumns, kernels::WeightType::F16, cpu);
    const auto narrow = e4m7_experts(packed(weights), kStackExperts, cpu);
    EXPECT_EQ(narrow->n, kStackRows);
    EXPECT_EQ(narrow->k, kStackColumns);
    EXPECT_GT(narrow->saved_bytes(), 0);
    EXPECT_EQ(narrow->bytes() + narrow->saved_bytes(), dense->bytes());
    for (const size_t count : {1, 3, 16, 17, 37}) {
      std::vector<int32_t> rows(count);
      std::iota(rows.rbegin(), rows.rend(), 2);  // the last first
      for (int64_t expert = 0; expert < kStackExperts; ++expert) {
        SCOPED_TRACE(testing::Message()
                     << outliers << " outliers, " << count << " rows, expert " << expert);
        const auto want = products(*dense, expert, x, rows, bias.data());
        const auto got = products(*narrow, expert, x, rows, bias.data());
        for (size_t i = 0; i < want.size(); ++i) {
          // Exceptions are added after the other products.
          const float allowed = outliers == 0 ? 0 : 1e-5f * (1 + std::abs(want[i]));
          ASSERT_NEAR(got[i], want[i], allowed) << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace pippin::engine
