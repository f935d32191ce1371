// The device's own kernels, in every order of threads.
#include "pippin/cuda/launchers/choice.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "pippin/cuda/emulate/emulate.h"
#include "pippin/cuda/fake/emulated_kernels.h"
#include "pippin/cuda/launchers/masks.h"

namespace pippin::cuda {
namespace {

void run_launches(const std::vector<Launch>& launches) {
  for (const Launch& launch : launches) {
    emulate_launch(launch.kernel, launch.arguments.data(), launch.blocks, 1, launch.depth,
                   launch.threads, launch.shared_bytes);
  }
}

template <typename Body>
void in_every_order(const Body& body) {
  using Kind = emulate::Order::Kind;
  for (const emulate::Order order :
       {emulate::Order{Kind::Forward}, {Kind::Backward}, {Kind::Shuffled, 3}}) {
    emulate::set_order(order);
    body();
  }
  emulate::set_order({});
}

TEST(CudaChoice, IsTheFirstOfTheLargest) {
  std::mt19937 random(5);
  std::uniform_int_distribution<int> values(0, 30);  // with many ties
  for (const size_t count : {1, 31, 2048, 2049, 9000}) {
    std::vector<float> numbers(count);
    for (float& x : numbers) x = static_cast<float>(values(random)) - 40;
    const auto want =
        static_cast<int32_t>(std::max_element(numbers.begin(), numbers.end()) - numbers.begin());
    in_every_order([&] {
      std::vector<std::byte> scratch(kLargestBytes);
      int32_t have = -7;
      std::vector<Launch> launches;
      add_largest(numbers.data(), static_cast<int64_t>(count), scratch.data(), &have, launches);
      run_launches(launches);
      EXPECT_EQ(have, want) << count;
    });
  }
}

TEST(CudaChoice, RanksTheLargestInTheirOrder) {
  std::mt19937 random(6);
  for (const auto& [count, most] :
       {std::pair{1, 5}, {127, 1000}, {129, 3}, {4096, 1 << 20}, {4097, 200}, {9000, 1 << 20}}) {
    std::uniform_int_distribution<int> values(-most, most);
    std::vector<float> numbers(static_cast<size_t>(count));
    for (float& x : numbers) x = 0.5F * static_cast<float>(values(random));
    std::vector<int32_t> want(numbers.size());
    std::iota(want.begin(), want.end(), 0);
    std::stable_sort(want.begin(), want.end(), [&](int32_t a, int32_t b) {
      return numbers[static_cast<size_t>(a)] > numbers[static_cast<size_t>(b)];
    });
    want.resize(std::min<size_t>(want.size(), kMostRanked));
    std::sort(want.begin(), want.end());
    if (count == 4097) numbers[static_cast<size_t>(want[3])] = std::nanf("");
    in_every_order([&] {
      std::vector<std::byte> scratch(kRankBytes);
      std::vector<RankedNumber> have(kMostRanked, RankedNumber{0, -7});
      std::vector<Launch> launches;
      add_rank(numbers.data(), count, scratch.data(), have.data(), launches);
      run_launches(launches);
      for (size_t i = 0; i < want.size(); ++i) {
        ASSERT_EQ(have[i].index, want[i]) << i << " of " << count;
        const float value = numbers[static_cast<size_t>(want[i])];
        EXPECT_TRUE(have[i].value == value || std::isnan(value));
      }
      if (want.size() < have.size()) {
        EXPECT_EQ(have[want.size()].index, -7);
      }
    });
  }
}

TEST(CudaMasks, AreCausal) {
  const float hidden = -std::numeric_limits<float>::infinity();
  for (const int64_t past : {0, 3, 200}) {
    std::vector<float> mask(2 * 3 * 70, std::nanf(""));
    engine::Operand operand;
    operand.data = reinterpret_cast<std::byte*>(mask.data());
    operand.rank = 3;
    operand.shape[0] = 2;
    operand.shape[1] = 3;
    operand.shape[2] = 70;
    in_every_order([&] {
      std::vector<Launch> launches;
      add_causal_mask(operand, past, launches);
      run_launches(launches);
      for (int64_t i = 0; i < 2 * 3 * 70; ++i) {
        const bool is_seen = i % 70 <= past + i / 70 % 3;
        ASSERT_EQ(mask[static_cast<size_t>(i)], is_seen ? 0 : hidden) << i;
      }
    });
  }
}

}  // namespace
}  // namespace pippin::cuda
