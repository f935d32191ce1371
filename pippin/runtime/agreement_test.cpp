#include "pippin/runtime/agreement.h"

#include <cmath>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/runtime/fake_model.h"

namespace pippin::runtime {
namespace {

// Like FakeModel, but scales all logits and changes the most likely token after one id.
class Changed : public FakeModel {
 public:
  Changed(int64_t context, int64_t vocab_size, float factor, int32_t odd_id)
      : FakeModel(context, vocab_size), factor_(factor), odd_id_(odd_id) {}

  void fill(int32_t id, std::span<float> row) const override {
    FakeModel::fill(id, row);
    for (float& logit : row) logit *= factor_;
    if (id == odd_id_) row[0] = 100;
  }

 private:
  float factor_;
  int32_t odd_id_;
};

TEST(Agreement, OfAModelWithItself) {
  const auto a = std::make_shared<FakeModel>(64, 8), b = std::make_shared<FakeModel>(64, 8);
  const std::vector<int32_t> ids = {1, 2, 3, 4, 5, 6, 7, 0, 1};
  const Agreement result = compare_models(*a, *b, ids, {.window = 4});
  EXPECT_EQ(result.tokens, 9);
  EXPECT_EQ(result.next_tokens, 6);  // the last token of a part has no next token
  EXPECT_EQ(result.mean_kl, 0);
  EXPECT_EQ(result.max_kl, 0);
  EXPECT_EQ(result.top1, 1);
  // Every next token has logit 10, the 7 others 0.
  EXPECT_NEAR(result.perplexity, (std::exp(10) + 7) / std::exp(10), 1e-9);
  EXPECT_EQ(result.perplexity, result.source_perplexity);
  EXPECT_EQ(result.greedy_tokens, 64 - 9);
  EXPECT_FALSE(result.first_difference);
  EXPECT_EQ(result.step_difference, 0);
}

TEST(Agreement, TextsMayBeLongerThanTheContext) {
  const auto a = std::make_shared<FakeModel>(8, 8), b = std::make_shared<FakeModel>(8, 8);
  const std::vector<int32_t> ids(30, 1);
  const Agreement result = compare_models(*a, *b, ids, {});
  EXPECT_EQ(result.tokens, 30);
  EXPECT_EQ(result.next_tokens, 26);  // three parts of 8, one of 6
}

TEST(Agreement, OfDifferentModels) {
  const auto model = std::make_shared<Changed>(64, 8, 0.5F, 5);
  const auto source = std::make_shared<FakeModel>(64, 8);
  const std::vector<int32_t> ids = {1, 2, 5};
  const Agreement result = compare_models(*model, *source, ids, {.greedy_tokens = 10});
  EXPECT_NEAR(result.top1, 2.0 / 3, 1e-12);
  // After 1 and 2: logits 10 and 5.
  const double z = std::exp(10) + 7, y = std::exp(5) + 7;
  const double p = std::exp(10) / z, q = 1 / z;
  const double kl = p * (std::log(p) - (5 - std::log(y))) + 7 * q * (std::log(q) + std::log(y));
  EXPECT_GT(result.max_kl, 50);  // after 5
  EXPECT_NEAR(result.mean_kl * 3 - result.max_kl, 2 * kl, 1e-6);
  ASSERT_TRUE(result.first_difference);
  EXPECT_EQ(*result.first_difference, 0);  // the prompt ends with the changed id
}

TEST(Agreement, GreedyTextsPart) {
  const auto model = std::make_shared<Changed>(64, 8, 1, 4);
  const auto source = std::make_shared<FakeModel>(64, 8);
  const std::vector<int32_t> ids = {1};
  const Agreement result = compare_models(*model, *source, ids, {.greedy_tokens = 10});
  ASSERT_TRUE(result.first_difference);
  EXPECT_EQ(*result.first_difference, 3);  // 2 3 4, then 0 instead of 5
  EXPECT_EQ(result.perplexity, 0);
}

TEST(Agreement, RefusesWhatCannotBeCompared) {
  const auto a = std::make_shared<FakeModel>(64, 8), b = std::make_shared<FakeModel>(64, 9);
  EXPECT_ERROR(compare_models(*a, *b, std::vector<int32_t>{1}), ErrorCode::InvalidArgument,
               "tokens, its source");
  const auto c = std::make_shared<FakeModel>(64, 8);
  EXPECT_ERROR(compare_models(*a, *c, std::vector<int32_t>{}), ErrorCode::InvalidArgument,
               "no token to compare models on");
  EXPECT_ERROR(compare_models(*a, *c, std::vector<int32_t>{8}), ErrorCode::InvalidArgument,
               "token id 8 is not in the model's vocabulary of 8");
}

}  // namespace
}  // namespace pippin::runtime
