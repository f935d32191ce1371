// Sequences of every family: truncated, forked, saved and restored, in batches and with several
// threads, compared with fresh ones that are fed the same tokens.

#include <algorithm>
#include <cmath>
#include <functional>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/log.h"
#include "pippin/base/numbers/ranges.h"
#include "pippin/base/testing.h"
#include "pippin/models/models_testing.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/batch.h"
#include "pippin/runtime/open/loaded_model.h"
#include "pippin/runtime/prompt_file.h"
#include "pippin/runtime/sequence.h"
#include "tests/sequence_families.h"

namespace pippin {
namespace {

using namespace sequence_families;
using runtime::Batch;
using runtime::Rows;
using runtime::Sequence;
using Ids = std::vector<int32_t>;
using Row = std::vector<float>;

class Sequences : public testing::TestWithParam<Family> {
 protected:
  void SetUp() override {
    model_ = GetParam().load(folder_.path());
    for (int32_t i = 0; i < 18; ++i) {
      ids_.push_back(static_cast<int32_t>((i * 7 + 3) % model_->vocab_size()));
    }
  }

  std::span<const int32_t> ids(size_t first, size_t count) const {
    return std::span(ids_).subspan(first, count);
  }
  // Token by token: the same computation however the sequence was made.
  static Row decode(Sequence& sequence, std::span<const int32_t> tokens) {
    Row row;
    for (const int32_t id : tokens) {
      const auto logits = sequence.decode(id);
      row.assign(logits.begin(), logits.end());
    }
    return row;
  }
  Row decode_fresh(std::span<const int32_t> tokens) const {
    return decode(*model_->new_sequence(), tokens);
  }

  TempDir folder_;
  std::shared_ptr<Model> model_;
  Ids ids_;
};

TEST_P(Sequences, GoBackAsFarAsTheySay) {
  for (const size_t count : {6, 13, 16}) {
    const auto size = static_cast<int64_t>(count);
    const int64_t earliest = GetParam().earliest(size);
    const auto sequence = model_->new_sequence();
    decode(*sequence, ids(0, count));
    EXPECT_EQ(sequence->earliest(), earliest);
    const std::string name = GetParam().name;
    EXPECT_EQ(model_->capabilities().truncate, name != "carried" && name != "recurrent");
    EXPECT_ERROR(sequence->truncate(size + 1), ErrorCode::InvalidArgument,
                 fmt::format("a sequence of {} tokens cannot be cut to {}", size, size + 1));
    EXPECT_ERROR(sequence->truncate(-1), ErrorCode::InvalidArgument, "cannot be cut to -1");
    if (earliest > 1) {
      EXPECT_ERROR(sequence->truncate(earliest - 1), ErrorCode::Unsupported,
                   fmt::format("a sequence of {} tokens cannot go back to {}, only to {} or 0: {}",
                               size, earliest - 1, earliest, GetParam().reason));
    }
    EXPECT_EQ(sequence->position(), size);
    for (const int64_t rest : {size, size - 1, std::max<int64_t>(earliest, 1)}) {
      if (rest < earliest) continue;
      const auto kept = static_cast<size_t>(rest);
      sequence->truncate(rest);
      EXPECT_EQ(sequence->position(), rest);
      EXPECT_TRUE(ranges::equal(sequence->tokens(), ids(0, kept)));
      // Another text from there on.
      Ids other(ids_.begin(), ids_.begin() + rest);
      for (const int32_t id : {2, 5, 1}) other.push_back(id);
      EXPECT_EQ(decode(*sequence, std::span(other).subspan(kept)), decode_fresh(other)) << rest;
      sequence->reset();
      decode(*sequence, ids(0, count));
    }
    sequence->truncate(0);
    EXPECT_EQ(sequence->position(), 0);
    EXPECT_EQ(decode(*sequence, ids(4, 5)), decode_fresh(ids(4, 5)));
  }
}

TEST_P(Sequences, AreForked) {
  EXPECT_TRUE(model_->capabilities().fork);
  for (const size_t count : {0, 5, 8, 11}) {
    const auto first = model_->new_sequence();
    decode(*first, ids(0, count));
    const auto second = first->fork();
    EXPECT_TRUE(ranges::equal(second->tokens(), first->tokens()));
    Ids other(ids_.begin(), ids_.begin() + static_cast<int64_t>(count));
    for (const int32_t id : {1, 2, 6, 4}) other.push_back(id);
    // Both continue in turn.
    EXPECT_EQ(decode(*first, ids(count, 3)), decode_fresh(ids(0, count + 3)));
    EXPECT_EQ(decode(*second, std::span(other).subspan(count)), decode_fresh(other));
    EXPECT_EQ(decode(*first, ids(count + 3, 2)), decode_fresh(ids(0, count + 5)));
  }
}

TEST_P(Sequences, AreSavedAndRestored) {
  EXPECT_TRUE(model_->capabilities().save);
  const TempDir again;
  const auto other_model = GetParam().load(again.path());
  EXPECT_EQ(model_->digest(), other_model->digest());
  EXPECT_EQ(model_->digest().size(), 64U);
  for (const size_t count : {0, 5, 8, 11}) {
    const auto sequence = model_->new_sequence();
    decode(*sequence, ids(0, count));
    const fs::path file = again / "saved";
    sequence->save(file);
    const Row want = decode(*sequence, ids(count, 4));
    for (Model* const model : {model_.get(), other_model.get()}) {
      const auto restored = model->new_sequence();
      restored->prefill(ids(2, 9));
      restored->restore(file);
      EXPECT_TRUE(ranges::equal(restored->tokens(), ids(0, count)));
      EXPECT_EQ(restored->earliest(), GetParam().earliest(static_cast<int64_t>(count)));
      EXPECT_EQ(decode(*restored, ids(count, 4)), want) << count;
    }
  }
}

// Rows that one sequence computed for the same tokens, piece by piece if there are rows.
TEST_P(Sequences, GoOnWithRowsOfOthers) {
  for (const size_t count : {5, 8, 13}) {
    const auto first = model_->new_sequence();
    const runtime::RowLayout layout = first->row_layout();
    EXPECT_FALSE(layout.is_empty());
    const auto size = static_cast<int64_t>(count);
    if (size > layout.limit) continue;
    decode(*first, ids(0, count));
    const auto middle = size / 2;
    runtime::RowMemory low(static_cast<uint64_t>(middle + 1) * layout.row_bytes());
    runtime::RowMemory high(static_cast<uint64_t>(size - middle) * layout.row_bytes());
    first->copy_rows(0, middle + 1, low.bytes());
    first->copy_rows(middle, size, high.bytes());
    std::vector<runtime::RowPiece> pieces = {{low.bytes(), middle + 1, 0, middle},
                                             {high.bytes(), size - middle, 0, size - middle}};
    const auto second = model_->new_sequence();
    if (layout.has_rest) {
      const runtime::SequenceRest rest = first->copy_rest();
      EXPECT_EQ(rest.count, size);
      EXPECT_ERROR(second->append_rows(ids(0, count), pieces), ErrorCode::InvalidArgument,
                   "cannot go on to");
      EXPECT_EQ(second->position(), 0);
      second->append_rows(ids(0, count), pieces, &rest);
    } else {
      EXPECT_ERROR(first->copy_rest(), ErrorCode::InvalidArgument, "is known as a whole");
      decode(*second, ids(2, 4));  // overwrites the tokens there before
      second->truncate(0);
      second->append_rows(ids(0, count / 2), std::span(pieces).first(1));
      second->append_rows(ids(count / 2, count - count / 2), std::span(pieces).last(1));
    }
    EXPECT_TRUE(ranges::equal(second->tokens(), ids(0, count)));
    EXPECT_EQ(second->earliest(), first->earliest());
    // Both continue, with different tokens.
    EXPECT_EQ(decode(*second, ids(count, 5)), decode_fresh(ids(0, count + 5)));
    EXPECT_EQ(decode(*first, ids(count, 2)), decode_fresh(ids(0, count + 2)));
  }
}

TEST_P(Sequences, TakeOnlyRowsThatFit) {
  const auto first = model_->new_sequence(), second = model_->new_sequence();
  decode(*first, ids(0, 6));
  decode(*second, ids(0, 3));
  const runtime::RowLayout layout = first->row_layout();
  runtime::RowMemory memory(3 * layout.row_bytes() + 1);
  const auto whole = MutableByteSpan(memory.bytes());
  EXPECT_ERROR(first->copy_rows(0, 3, whole), ErrorCode::InvalidArgument, "3 rows of ");
  EXPECT_ERROR(first->copy_rows(4, 7, whole), ErrorCode::InvalidArgument,
               "rows [4, 7) of a sequence of 6 tokens");
  EXPECT_ERROR(first->copy_rows(-1, 2, whole), ErrorCode::InvalidArgument, "rows [-1, 2)");
  const std::vector<runtime::RowPiece> odd = {{whole, 3, 0, 3}};
  EXPECT_ERROR(second->append_rows(ids(3, 3), odd), ErrorCode::InvalidArgument,
               "rows [0, 3) of a piece of 3 with");
  const std::vector<runtime::RowPiece> outside = {{whole.first(3 * layout.row_bytes()), 3, 1, 3}};
  EXPECT_ERROR(second->append_rows(ids(3, 3), outside), ErrorCode::InvalidArgument,
               "rows [1, 4) of a piece of 3");
  EXPECT_ERROR(second->append_rows({}, {}), ErrorCode::InvalidArgument, "no tokens");
  const Ids many(static_cast<size_t>(model_->context()), 1);
  EXPECT_ERROR(second->append_rows(many, {}), ErrorCode::LimitExceeded, "context holds");
  EXPECT_EQ(second->position(), 3);
  EXPECT_EQ(decode(*second, ids(3, 2)), decode_fresh(ids(0, 5)));
}

TEST_P(Sequences, GoOnFromAPromptFile) {
  const fs::path file = folder_ / "prompt";
  const auto restored = [&](std::span<const int32_t> prompt) {
    const auto sequence = model_->new_sequence();
    const int64_t count = runtime::restore_prompt(*sequence, file, prompt);
    EXPECT_EQ(sequence->position(), count);
    EXPECT_EQ(decode(*sequence, prompt.subspan(static_cast<size_t>(count))), decode_fresh(prompt));
    return count;
  };
  EXPECT_EQ(restored(ids(0, 8)), 0);
  const auto first = model_->new_sequence();
  decode(*first, ids(0, 8));
  runtime::save_prompt(*first, file);
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(restored(ids(0, 13)), 8);
  const int64_t earliest = GetParam().earliest(8);
  EXPECT_EQ(restored(ids(0, 8)), earliest <= 7 ? 7 : 0);
  Ids other(ids_.begin(), ids_.begin() + 8);
  other[5] = other[5] == 1 ? 2 : 1;
  EXPECT_EQ(restored(other), earliest <= 5 ? 5 : 0);
  EXPECT_EQ(restored(ids(1, 8)), 0);
  std::string said;
  const LogScope log(LogLevel::Warn, [&](LogLevel, std::string_view line) { said += line; });
  std::string content = read_file(file);
  content[content.size() / 2] ^= 1;
  write_file(file, content);
  EXPECT_EQ(restored(ids(0, 13)), 0);
  EXPECT_TRUE(
      said.ends_with("prompt: is damaged: its checksum does not match; the prompt is read "
                     "anew"))
      << said;
  said.clear();
  runtime::save_prompt(*first, folder_ / "absent" / "prompt");
  EXPECT_TRUE(said.starts_with("the prompt cache is not saved: ")) << said;
}

// Whatever is wrong with a file, the sequence is unchanged.
TEST_P(Sequences, RefuseFilesThatAreNotTheirs) {
  const auto sequence = model_->new_sequence();
  decode(*sequence, ids(0, 9));
  const fs::path file = folder_ / "saved";
  sequence->save(file);
  const std::string good = read_file(file);
  const auto same = sequence->fork();
  const auto refuses = [&](const std::string& content, ErrorCode code, const std::string& part) {
    write_file(file, content);
    EXPECT_ERROR(sequence->restore(file), code, part);
    EXPECT_EQ(sequence->position(), 9);
  };
  refuses("", ErrorCode::InvalidFile, "saved: not a saved sequence");
  refuses(std::string(200, 'x'), ErrorCode::InvalidFile, "saved: not a saved sequence");
  std::string changed = good;
  changed[8] = 7;
  refuses(changed, ErrorCode::Unsupported,
          "saved: a saved sequence of format 7, this version of Pippin reads formats 1 to 3");
  for (const size_t size : {good.size() - 1, good.size() / 2, size_t{25}}) {
    refuses(good.substr(0, size), ErrorCode::InvalidFile,
            fmt::format("saved: has {} bytes of the {} that were written", size, good.size()));
  }
  for (const size_t place : {size_t{30}, size_t{100}, good.size() / 2, good.size() - 3}) {
    changed = good;
    changed[place] = static_cast<char>(changed[place] ^ 4);
    refuses(changed, ErrorCode::InvalidFile, "saved: is damaged: its checksum does not match");
  }
  fs::remove(file);
  EXPECT_ERROR(sequence->restore(file), ErrorCode::NotFound, "saved");
  EXPECT_ERROR(sequence->save(folder_ / "absent" / "saved"), ErrorCode::NotFound, "absent");
  EXPECT_EQ(decode(*sequence, ids(9, 3)), decode(*same, ids(9, 3)));
}

TEST_P(Sequences, TakeStepsInBatches) {
  EXPECT_EQ(model_->capabilities().shares_passes, GetParam().shares_passes);
  std::vector<std::unique_ptr<Sequence>> together, alone;
  for (size_t i = 0; i < 6; ++i) {
    together.push_back(model_->new_sequence());
    alone.push_back(model_->new_sequence());
  }
  const auto near = [](std::span<const float> have, std::span<const float> want) {
    ASSERT_EQ(have.size(), want.size());
    float largest = 0;
    for (const float value : want) largest = std::max(largest, std::abs(value));
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(have[i], want[i], 1e-4F * largest) << i;
  };
  Batch batch(model_);
  for (size_t round = 0; round < 3; ++round) {
    batch.clear();
    const size_t at = 5 * round;
    EXPECT_EQ(batch.add(*together[0], ids_[round]), 0U);
    batch.add(*together[1], ids(at, 5));
    batch.add(*together[2], ids(at, 4), Rows::None);
    batch.add(*together[3], ids_[at + 1], Rows::Every);
    batch.add(*together[4], ids(at, 3), Rows::Every);
    batch.add(*together[5], ids_[at], Rows::None);
    batch.run();
    near(batch.logits(0), alone[0]->decode(ids_[round]));
    near(batch.logits(1), alone[1]->prefill(ids(at, 5)));
    EXPECT_TRUE(batch.logits(2).empty());
    alone[2]->prefill(ids(at, 4));
    near(batch.logits(3), alone[3]->decode(ids_[at + 1]));
    near(batch.logits(4), alone[4]->all_logits(ids(at, 3)));
    EXPECT_TRUE(batch.logits(5).empty());
    alone[5]->decode(ids_[at]);
  }
  for (size_t i = 0; i < together.size(); ++i) {
    EXPECT_TRUE(ranges::equal(together[i]->tokens(), alone[i]->tokens()));
    near(together[i]->decode(2), alone[i]->decode(2));
  }
  // If one does not fit, none is fed.
  batch.clear();
  batch.add(*together[0], 1);
  const Ids many(static_cast<size_t>(model_->context()), 1);
  batch.add(*together[1], many);
  EXPECT_ERROR(batch.run(), ErrorCode::LimitExceeded, "the model's context holds");
  EXPECT_EQ(together[0]->position(), alone[0]->position());
}

// Each thread uses its own sequence of the model.
TEST_P(Sequences, AreUsedByThreads) {
  std::vector<Row> want;
  for (size_t i = 0; i < 3; ++i) want.push_back(decode_fresh(ids(i, 12)));
  std::vector<Row> have(3);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      const auto sequence = model_->new_sequence();
      decode(*sequence, ids(i, 6));
      const auto fork = sequence->fork();
      have[i] = decode(*fork, ids(i + 6, 6));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(have, want);
}

INSTANTIATE_TEST_SUITE_P(Families, Sequences, testing::ValuesIn(kFamilies),
                         [](const auto& family) { return family.param.name; });
INSTANTIATE_TEST_SUITE_P(Caches, Sequences, testing::ValuesIn(kCacheFamilies),
                         [](const auto& family) { return family.param.name; });

TEST(SavedSequences, BelongToTheirModelAndContext) {
  const TempDir folder;
  const auto load = [](int64_t context) {
    return runtime::make_runnable(models::build(demo(), {.context = 32}),
                                  {.context = context, .threads = 1})
        .model;
  };
  const auto model = load(32);
  const auto sequence = model->new_sequence();
  sequence->prefill(Ids{1, 2, 3});
  sequence->save(folder / "saved");
  EXPECT_ERROR(load(16)->new_sequence()->restore(folder / "saved"), ErrorCode::InvalidArgument,
               "saved: a sequence in a context of 32 tokens, the model's context holds 16");
  const auto other = load_random(folder.path(), R"("model_type": "llama")");
  EXPECT_ERROR(other->new_sequence()->restore(folder / "saved"), ErrorCode::InvalidArgument,
               "saved: a sequence of another model: its digest begins with");
}

// A cache of 40 tokens that holds 3.
TEST(SavedSequences, HaveOnlyWhatIsFilled) {
  const TempDir folder;
  const auto model =
      runtime::make_runnable(models::build(demo(), {.context = 40}), {.threads = 1}).model;
  uintmax_t sizes[2];
  for (const size_t count : {3, 30}) {
    const auto sequence = model->new_sequence();
    sequence->prefill(Ids(count, 1));
    sequence->save(folder / "saved");
    sizes[count == 30] = fs::file_size(folder / "saved");
  }
  EXPECT_LT(sizes[0] * 4, sizes[1]);
}

}  // namespace
}  // namespace pippin
