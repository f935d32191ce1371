// A sequence of a stateful model: its state between calls, and its errors.

#include <algorithm>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/sequence.h"
#include "pippin/runtime/stateful/model.h"

namespace pippin {
namespace {

using Ids = std::vector<int32_t>;

class StatefulModel : public testing::Test {
 protected:
  void SetUp() override {
    program_ = models::build(demo_model_folder());
    const auto model =
        runtime::make_stateful_model(program_, pool_, {.context = 16, .prefill_chunk = 4});
    sequence_ = model->new_sequence();
  }

  static std::vector<float> copy(std::span<const float> logits) {
    return {logits.begin(), logits.end()};
  }
  static void expect_near(const std::vector<float>& a, const std::vector<float>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-4) << i;
  }

  mil::Model program_;
  ThreadPool pool_{1};
  std::unique_ptr<runtime::Sequence> sequence_;
};

TEST_F(StatefulModel, TellsItsSizes) {
  EXPECT_EQ(sequence_->model().context(), 16);
  EXPECT_EQ(sequence_->model().vocab_size(), 2048);
  EXPECT_EQ(sequence_->position(), 0);
}

TEST_F(StatefulModel, PartsOfAPromptAreThePrompt) {
  const Ids ids = {401, 433, 259, 413, 375, 290, 259, 584, 1085};
  const auto whole = copy(sequence_->prefill(ids));
  EXPECT_EQ(sequence_->position(), 9);
  sequence_->reset();
  EXPECT_EQ(sequence_->position(), 0);
  sequence_->prefill(std::span(ids).first(3));
  sequence_->decode(ids[3]);
  expect_near(copy(sequence_->prefill(std::span(ids).subspan(4))), whole);
  sequence_->reset();
  std::vector<float> last;
  for (const int32_t id : ids) last = copy(sequence_->decode(id));
  expect_near(last, whole);
}

TEST_F(StatefulModel, RowsOfAllLogits) {
  const Ids ids = {401, 433, 259, 413, 375, 290};
  const auto rows = sequence_->all_logits(ids);
  ASSERT_EQ(rows.size(), ids.size() * 2048);
  sequence_->reset();
  expect_near(copy(sequence_->prefill(ids)), {rows.end() - 2048, rows.end()});
}

TEST_F(StatefulModel, RefusesWhatDoesNotFitAndKeepsItsPlace) {
  sequence_->prefill(Ids{1, 403});
  EXPECT_ERROR(sequence_->prefill(Ids{2048}), ErrorCode::InvalidArgument,
               "token id 2048 is not in the model's vocabulary of 2048");
  EXPECT_ERROR(sequence_->prefill(Ids{-1}), ErrorCode::InvalidArgument,
               "token id -1 is not in the model's vocabulary of 2048");
  EXPECT_ERROR(sequence_->prefill({}), ErrorCode::InvalidArgument,
               "no tokens to feed to the model");
  EXPECT_ERROR(sequence_->prefill(Ids(15, 1)), ErrorCode::LimitExceeded,
               "the sequence would have 17 tokens, the model's context holds 16");
  EXPECT_EQ(sequence_->position(), 2);
  sequence_->prefill(Ids(14, 1));
  EXPECT_EQ(sequence_->position(), 16);
  EXPECT_ERROR(sequence_->decode(1), ErrorCode::LimitExceeded,
               "the sequence would have 17 tokens, the model's context holds 16");
}

TEST_F(StatefulModel, StopsWhenItIsCancelled) {
  CancelToken token;
  token.request();
  {
    const CancelScope scope(token);
    const Ids ids = {1, 2};
    EXPECT_ERROR(sequence_->prefill(ids), ErrorCode::Cancelled, "cancelled");
  }
  EXPECT_EQ(sequence_->position(), 0);
}

}  // namespace
}  // namespace pippin
