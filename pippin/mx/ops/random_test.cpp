#include <algorithm>

#include "pippin/base/testing.h"
#include "pippin/mx/mx_testing.h"

namespace pippin::mx {
namespace {

using Words = std::vector<uint32_t>;

TEST(Random, GivesTheWordsOfThreefry) {
  const array key = random::key(0);
  EXPECT_EQ(random::split(key).to_vector<uint32_t>(),
            Words({4146024105u, 967050713u, 2718843009u, 1272950319u}));
  EXPECT_EQ(random::split(key, 3).to_vector<uint32_t>(),
            Words({2467461003u, 428148500u, 3186719485u, 3840466878u, 2562233961u, 1946702221u}));
  EXPECT_EQ(random::key((uint64_t{1} << 32) + 1).to_vector<uint32_t>(), Words({1, 1}));
  // A narrower type uses the same bytes.
  const Words whole = random::bits({3}, 4, key).to_vector<uint32_t>();
  const auto bytes = random::bits({12}, 1, key).to_vector<uint32_t>();
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(bytes[i], (whole[i / 4] >> (8 * (i % 4))) & 255);
}

TEST(Random, FollowsItsSeed) {
  random::seed(4);
  const Words first = random::bits({5}).to_vector<uint32_t>();
  const array state = random::state();
  const Words second = random::bits({5}).to_vector<uint32_t>();
  EXPECT_NE(first, second);
  random::seed(4);
  EXPECT_EQ(random::bits({5}).to_vector<uint32_t>(), first);
  random::set_state(state);
  EXPECT_EQ(random::bits({5}).to_vector<uint32_t>(), second);
  EXPECT_ERROR(random::bits({2}, 3), ErrorCode::InvalidArgument, "[bits]");
  EXPECT_ERROR(random::bits({2}, 4, array({1, 2})), ErrorCode::InvalidArgument, "key");
}

TEST(Random, DrawsFromItsDistributions) {
  random::seed(7);
  const Shape shape{20'000};
  for (const Dtype dtype : {float32, float16, bfloat16}) {
    const array u = random::uniform(array(-1.0f), array(3.0f), shape, dtype);
    EXPECT_EQ(u.dtype(), dtype);
    EXPECT_GE(min(u).item<float>(), -1);
    EXPECT_LE(max(u).item<float>(), 3);
    EXPECT_NEAR(mean(astype(u, float32)).item<float>(), 1, 0.05);
    const array n = astype(random::normal(shape, dtype, array(2.0f), array(0.5f)), float32);
    EXPECT_NEAR(mean(n).item<float>(), 2, 0.03);
    EXPECT_NEAR(std(n).item<float>(), 0.5, 0.03);
  }
  const array r = random::randint(array(-2), array(3), shape);
  EXPECT_EQ(min(r).item<int>(), -2);
  EXPECT_EQ(max(r).item<int>(), 2);
  EXPECT_NEAR(mean(random::bernoulli(array(0.3f), shape)).item<float>(), 0.3, 0.02);
  EXPECT_TRUE(all(random::bernoulli(array(1.0f), shape)).item<bool>());
  const array t = random::truncated_normal(array(-1.0f), array(0.5f), shape);
  EXPECT_GE(min(t).item<float>(), -1);
  EXPECT_LE(max(t).item<float>(), 0.5f);
  EXPECT_NEAR(mean(random::gumbel(shape)).item<float>(), 0.5772, 0.05);
  EXPECT_NEAR(mean(abs(random::laplace(shape))).item<float>(), 1, 0.05);
  const array logits = log(array({0.1f, 0.2f, 0.7f}));
  for (const bool apart : {false, true}) {  // two internal paths
    const array drawn = apart ? random::categorical(broadcast_to(logits, {20'000, 3}))
                              : random::categorical(logits, -1, shape);
    EXPECT_EQ(drawn.dtype(), uint32);
    EXPECT_NEAR(mean(equal(drawn, array(2))).item<float>(), 0.7, 0.02);
    EXPECT_NEAR(mean(equal(drawn, array(0))).item<float>(), 0.1, 0.02);
  }
  std::vector<int> places = random::permutation(50).to_vector<int>();
  std::sort(places.begin(), places.end());
  for (int i = 0; i < 50; ++i) EXPECT_EQ(places[static_cast<size_t>(i)], i);
}

TEST(Random, CorrelatesAsAsked) {
  random::seed(2);
  const array cov({2.0f, 0.8f, 0.8f, 1.0f}, {2, 2}), middle({1.0f, -1.0f});
  const array x = random::multivariate_normal(middle, cov, {20'000});
  const array deviation = subtract(x, middle);
  const array found = multiply(matmul(transpose(deviation), deviation), array(1 / 20'000.0f));
  expect_numbers(found, numbers(cov), 0.1, "covariances", 0.05);
}

}  // namespace
}  // namespace pippin::mx
