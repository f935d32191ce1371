#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/cpu/make_step.h"

namespace pippin::engine {
namespace {

constexpr int64_t kExperts = 6, kFeatures = 150, kHidden = 650;

std::vector<float> random_numbers(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.3f);
  std::vector<float> numbers(static_cast<size_t>(count));
  for (float& number : numbers) number = normal(random);
  return numbers;
}

WeightStack matrices(const std::vector<float>& numbers, int64_t n, int64_t k) {
  DenseStack dense;
  for (int64_t i = 0; i < kExperts; ++i) {
    dense.matrices.push_back(reinterpret_cast<const std::byte*>(numbers.data() + i * n * k));
  }
  return {kExperts, n, k, std::move(dense)};
}

struct Numbers {
  // gate, up, down: large enough that threads share the experts of a few rows.
  const std::vector<float>& gate;
  const std::vector<float>& up;
  const std::vector<float>& down;
  std::vector<float> x, weights;  // [rows, features], [rows, experts]
  int64_t rows = 0;

  // The sums as defined, in doubles.
  std::vector<double> expected() const {
    std::vector<double> out(static_cast<size_t>(rows * kFeatures));
    const auto product = [](const float* w, const auto* v, int64_t k) {
      double sum = 0;
      for (int64_t j = 0; j < k; ++j) sum += double{w[j]} * v[j];
      return sum;
    };
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t e = 0; e < kExperts; ++e) {
        const double weight = weights[static_cast<size_t>(i * kExperts + e)];
        if (weight == 0) continue;
        std::vector<double> hidden(kHidden);
        for (int64_t h = 0; h < kHidden; ++h) {
          const int64_t row = (e * kHidden + h) * kFeatures;
          const double g = product(gate.data() + row, x.data() + i * kFeatures, kFeatures);
          const double u = product(up.data() + row, x.data() + i * kFeatures, kFeatures);
          hidden[static_cast<size_t>(h)] = g / (1 + std::exp(-g)) * u;
        }
        for (int64_t f = 0; f < kFeatures; ++f) {
          const float* w = down.data() + (e * kFeatures + f) * kHidden;
          out[static_cast<size_t>(i * kFeatures + f)] +=
              weight * product(w, hidden.data(), kHidden);
        }
      }
    }
    return out;
  }

  std::vector<float> computed(int threads) const {
    ThreadPool pool(threads);
    Node node{ExpertsNode{matrices(gate, kHidden, kFeatures), matrices(up, kHidden, kFeatures),
                          matrices(down, kFeatures, kHidden), kExperts},
              {}};
    std::vector<float> out(static_cast<size_t>(rows * kFeatures), NAN);
    std::vector<Operand> operands;
    const auto add = [&](const std::vector<float>& numbers, int64_t columns) {
      Operand operand;
      operand.data = reinterpret_cast<std::byte*>(const_cast<float*>(numbers.data()));
      operand.rank = 2;
      operand.shape[0] = rows;
      operand.shape[1] = operand.strides[0] = columns;
      operand.strides[1] = 1;
      operands.push_back(operand);
      View view;
      view.shape = {mil::Dim(rows), mil::Dim(columns)};
      node.views.push_back(view);
    };
    add(out, kFeatures);
    add(x, kFeatures);
    add(weights, kExperts);
    const auto step = make_step(node, {.cpu = detect_cpu()});
    struct alignas(64) Line {
      std::byte bytes[64];
    };
    std::vector<Line> scratch(static_cast<size_t>(step->scratch_bytes() * threads / 64 + 1));
    step->run({operands, {}, pool, scratch[0].bytes, nullptr});
    return out;
  }
};

// Rows that choose one expert each, several, or none; few rows, for which matrices are divided into
// ranges, and many, for which they are divided into tasks.
TEST(ExpertsStep, AddsUpWhatTheChosenExpertsMakeWithAnyNumberOfThreads) {
  std::mt19937 random(7);
  const std::vector<float> gate = random_numbers(kExperts * kHidden * kFeatures, 1);
  const std::vector<float> up = random_numbers(kExperts * kHidden * kFeatures, 2);
  const std::vector<float> down = random_numbers(kExperts * kFeatures * kHidden, 3);
  for (const int64_t rows : {1, 3, 14}) {
    for (const int chosen : {1, 6}) {
      SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(chosen) + " experts");
      Numbers numbers{gate, up, down, random_numbers(rows * kFeatures, 4), {}, rows};
      numbers.weights.assign(static_cast<size_t>(rows * kExperts), 0);
      for (int64_t i = 0; i < rows; ++i) {
        if (i == 2) continue;  // chooses none
        const auto first = static_cast<int64_t>(random() % kExperts);
        for (int64_t e = 0; e < chosen; ++e) {
          numbers.weights[static_cast<size_t>(i * kExperts + (first + e) % kExperts)] =
              0.2f + 0.1f * static_cast<float>(e);
        }
      }
      const std::vector<double> want = numbers.expected();
      const std::vector<float> one = numbers.computed(1);
      for (size_t i = 0; i < one.size(); ++i) ASSERT_NEAR(one[i], want[i], 1e-3) << i;
      // The order of additions does not depend on the threads.
      EXPECT_EQ(numbers.computed(3), one);
    }
  }
}

}  // namespace
}  // namespace pippin::engine
