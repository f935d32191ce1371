#include "pippin/sound/torch_random.h"

#include <cmath>

#include <gtest/gtest.h>

namespace pippin::sound {
namespace {

// torch.manual_seed(0); torch.randn(16)
TEST(TorchRandom, EqualsPyTorch) {
  const std::vector<float> expected = {-1.1258F, -1.1524F, -0.2506F, -0.4339F, 0.8487F, 0.6920F,
                                       -0.3160F, -2.1152F, 0.3223F,  -1.2633F, 0.3500F, 0.3081F,
                                       0.1198F,  1.2377F,  1.1168F,  -0.2473F};
  const auto values = torch_normal(16, 0);
  ASSERT_EQ(values.size(), 16u);
  for (size_t i = 0; i < 16; ++i) EXPECT_NEAR(values[i], expected[i], 6e-5) << i;
}

// The last group of other sizes overlaps the one before, with numbers of its own.
TEST(TorchRandom, HasNormalNumbersOfAnySize) {
  for (size_t size : {17, 31, 33, 10007}) {
    const auto values = torch_normal(size, 7);
    ASSERT_EQ(values.size(), size);
    const auto whole = torch_normal((size + 15) / 16 * 16, 7);
    EXPECT_NE(values[size - 1], whole[size - 1]);
  }
  const auto values = torch_normal(100000, 3);
  double sum = 0, squares = 0;
  for (float value : values) {
    sum += value;
    squares += double{value} * value;
  }
  EXPECT_NEAR(sum / 1e5, 0, 0.02);
  EXPECT_NEAR(squares / 1e5, 1, 0.02);
}

}  // namespace
}  // namespace pippin::sound
