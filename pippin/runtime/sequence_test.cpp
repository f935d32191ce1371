#include "pippin/runtime/sequence.h"

#include <chrono>
#include <cstring>
#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/io/load_cache_files.h"
#include "pippin/runtime/batch.h"
#include "pippin/runtime/fake_model.h"
#include "pippin/runtime/generator.h"
#include "pippin/runtime/sequence_file.h"

namespace pippin::runtime {
namespace {

using Ids = std::vector<int32_t>;

// While one thread is in a call, calls of another thread fail.
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
      refuses([&] { sequence->greedy_token(); });
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

// A call that waits for another sequence's call ends without effect when it is cancelled.
TEST(Sequence, IsCancelledWhileItWaits) {
  const auto model = std::make_shared<FakeModel>(
      16, 8, FakeModel::Options{.capabilities = {.truncate = true, .many_sequences = true}});
  const auto busy = model->new_sequence(), waiting = model->new_sequence();
  waiting->decode(1);
  Batch batch(model);
  batch.add(*waiting, 2);
  model->before_forward = [&](int64_t) {
    std::thread other([&] {
      CancelToken token;
      const CancelScope scope(token);
      const auto is_cancelled = [&](const std::function<void()>& call) {
        token.reset();
        std::thread canceller([&] {
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          token.request();
        });
        EXPECT_ERROR(call(), ErrorCode::Cancelled, "cancelled");
        canceller.join();
      };
      is_cancelled([&] { waiting->decode(2); });
      is_cancelled([&] { waiting->all_logits(Ids{2}); });
      is_cancelled([&] { waiting->truncate(0); });
      is_cancelled([&] { batch.run(); });
      is_cancelled([&] { model->new_sequence(); });
      is_cancelled([&] { model->digest(); });
      EXPECT_EQ(waiting->position(), 1);
      GenerateOptions options;
      options.max_tokens = 2;
      is_cancelled([&] {
        const auto result = generate(*waiting, Ids{2}, options, [](int32_t) { return true; });
        EXPECT_EQ(result.reason, StopReason::Cancelled);
        check_cancel();
      });
    });
    other.join();
  };
  busy->decode(3);
  EXPECT_EQ(busy->position(), 1);
  model->before_forward = nullptr;
  batch.run();  // the sequence is free for the next call
  EXPECT_EQ(waiting->position(), 2);
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

// Steps between frames make another version of the format.
TEST(SequenceFile, KeepsRuns) {
  for (const int64_t step : {1, 4}) {
    SavedSequence saved;
    saved.digest = std::string(64, 'a');
    saved.runs = {{2, 8, std::string(64, 'b'), {2, 2, 2}, step, nullptr}};
    const std::vector<std::byte> bytes = to_bytes(saved, {}, {});
    const SequenceFile file(bytes, "x");
    ASSERT_EQ(file.sequence().runs.size(), 1U);
    const RowRun& run = file.sequence().runs.front();
    EXPECT_EQ(run.grid, saved.runs.front().grid);
    EXPECT_EQ(run.frame_step, step);
    EXPECT_EQ(run.digest, saved.runs.front().digest);
  }
}

TEST(SequenceFile, EndsWithItsArrays) {
  std::vector<std::byte> memory(6, std::byte{1});
  const std::vector<CacheArray> arrays = {{"a", memory.size(), 1, 3, 0, 2}};
  SavedSequence saved{std::string(64, 'd'), 3, 0, {1, 2}};
  std::vector<std::byte> bytes =
      to_bytes(saved, arrays, [&](size_t, const engine::StateRows& rows, std::byte* to) {
        engine::read_rows(memory.data(), rows, to, rows.group_bytes());
      });
  const SequenceFile file(bytes, "x");
  EXPECT_EQ(file.sequence().tokens, saved.tokens);
  file.check(arrays);
  std::vector<std::byte> again(6);
  file.read([&](size_t, const engine::StateRows& rows, const std::byte* from) {
    engine::write_rows(again.data(), rows, from, rows.group_bytes());
  });
  EXPECT_EQ(again, (std::vector<std::byte>{std::byte{1}, std::byte{1}, std::byte{1}, std::byte{1},
                                           std::byte{0}, std::byte{0}}));

  bytes.insert(bytes.end() - 8, std::byte{0});
  const uint64_t size = bytes.size();
  std::memcpy(bytes.data() + 12, &size, sizeof(size));
  const uint64_t sum = load_cache::checksum(
      ByteSpan(bytes).first(size - 8), [](size_t count, const std::function<void(size_t)>& body) {
        for (size_t i = 0; i < count; ++i) body(i);
      });
  std::memcpy(bytes.data() + size - 8, &sum, sizeof(sum));
  EXPECT_ERROR(SequenceFile(bytes, "x"), ErrorCode::InvalidFile, "x: has 1 bytes after its arrays");
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
}  // namespace pippin::runtime
