#include "pippin/generate/sequence.h"

#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/generate/batch.h"
#include "pippin/generate/fake_model.h"

namespace pippin::generate {
namespace {

using Ids = std::vector<int32_t>;

// While one thread is in a call, whatever another one asks for is an error.
TEST(Sequence, TakesOneThreadAtATime) {
  const auto model = std::make_shared<FakeModel>(
      16, 8,
      FakeModel::Options{.capabilities = {.truncate = true, .fork = true, .many_sequences = true}});
  const auto sequence = model->new_sequence();
  sequence->decode(1);
  Batch batch(model);
  batch.add(*sequence, 2);
  int calls = 0;
  model->before_forward = [&](int64_t) {
    ++calls;
    std::thread other([&] {
      const auto refuses = [](const std::function<void()>& call) {
        EXPECT_ERROR(call(), ErrorCode::InvalidArgument, "the sequence is in use: one thread");
      };
      refuses([&] { sequence->decode(1); });
      refuses([&] { sequence->all_logits(Ids{1}); });
      refuses([&] { sequence->reset(); });
      refuses([&] { sequence->truncate(0); });
      refuses([&] { sequence->fork(); });
      refuses([&] { sequence->likeliest(); });
      refuses([&] { sequence->earliest(); });
      refuses([&] { sequence->tokens(); });
      refuses([&] { batch.run(); });
      EXPECT_EQ(sequence->position(), 1);
      EXPECT_EQ(&sequence->model(), model.get());
    });
    other.join();
  };
  sequence->decode(3);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(sequence->position(), 2);
  model->before_forward = nullptr;
  batch.run();
  EXPECT_EQ(batch.logits(0)[3], 10);
  EXPECT_EQ(Ids(sequence->tokens().begin(), sequence->tokens().end()), (Ids{1, 3, 2}));
}

TEST(Sequence, RefusesWhatTheModelCannot) {
  const TempDir folder;
  const auto model = std::make_shared<FakeModel>(16, 8);
  EXPECT_FALSE(model->capabilities().fork);
  const auto sequence = model->new_sequence();
  sequence->prefill(Ids{1, 2});
  EXPECT_ERROR(sequence->fork(), ErrorCode::Unsupported,
               "a sequence of this model cannot be forked");
  EXPECT_ERROR(sequence->save(folder / "saved"), ErrorCode::Unsupported,
               "a sequence of this model cannot be saved");
  EXPECT_FALSE(std::filesystem::exists(folder / "saved"));
}

TEST(Batch, IsOfOneModel) {
  const auto model = std::make_shared<FakeModel>(16, 8), other = std::make_shared<FakeModel>(16, 8);
  const auto sequence = model->new_sequence(), stranger = other->new_sequence();
  Batch batch(model);
  batch.add(*sequence, 1);
  EXPECT_ERROR(batch.add(*stranger, 1), ErrorCode::InvalidArgument,
               "sequence 1 of the batch is another model's");
  EXPECT_ERROR(batch.add(*sequence, 1), ErrorCode::InvalidArgument,
               "sequences 0 and 1 of the batch are one and the same");
  batch.run();
  EXPECT_ERROR(batch.run(), ErrorCode::InvalidArgument, "the batch has run");
  EXPECT_ERROR(batch.add(*sequence, 1), ErrorCode::InvalidArgument, "the batch has run");
  batch.clear();
  EXPECT_EQ(batch.size(), 0U);
  EXPECT_EQ(batch.add(*sequence, 1), 0U);
}

}  // namespace
}  // namespace pippin::generate
