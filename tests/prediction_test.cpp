// Multi-token prediction layers: their drafts through everything that sequences do, and texts with
// them against those without.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/base/testing.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/batch.h"
#include "pippin/runtime/draft/drafts.h"
#include "pippin/runtime/generator.h"
#include "pippin/runtime/open/loaded_model.h"
#include "pippin/runtime/sequence.h"
#include "pippin/scheduling/requests_testing.h"
#include "tests/prediction_cases.h"

namespace pippin {
namespace {

using namespace testing_models;
using runtime::Drafts;
using runtime::GenerateOptions;
using runtime::GenerateResult;
using runtime::LoadOptions;
using runtime::Model;
using runtime::PredictedToken;
using runtime::Sequence;
using Ids = std::vector<int32_t>;

void expect_same(const std::vector<PredictedToken>& have, const std::vector<PredictedToken>& want) {
  ASSERT_EQ(have.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(have[i].id, want[i].id) << i;
    EXPECT_NEAR(have[i].probability, want[i].probability, 1e-5) << i;
  }
}

class Predictions : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    write_case(folder_.path(), GetParam());
    model_ = load(folder_.path());
    fresh_ = model_->new_sequence();
  }
  // Of a sequence that was fed these tokens at once.
  std::vector<PredictedToken> expected(std::span<const int32_t> ids, int32_t next) {
    fresh_->reset();
    fresh_->prefill(ids);
    return chain(*fresh_, next, 3);
  }
  // The sequence goes on with `next`, and so on, as a fresh one would.
  void expect_as_fresh(Sequence& sequence, int32_t next) {
    for (int i = 0; i < 3; ++i) {
      const Ids ids(sequence.tokens().begin(), sequence.tokens().end());
      expect_same(chain(sequence, next, 3), expected(ids, next));
      sequence.decode(next);
      next = (next * 7 + 3) % static_cast<int32_t>(kVocabulary);
    }
  }
  static std::span<const int32_t> first(const Ids& ids, size_t count) {
    return std::span(ids).first(count);
  }

  TempDir folder_;
  std::shared_ptr<Model> model_;
  std::unique_ptr<Sequence> fresh_;
  const Ids ids_ = {3, 17, 5, 22, 31, 8, 0, 39, 12, 1, 25, 33, 2, 9, 14};
};

TEST_P(Predictions, DoNotDependOnHowTokensWereFed) {
  ASSERT_TRUE(model_->capabilities().predicts);
  for (const int64_t chunk : {2, 3, 7}) {
    SCOPED_TRACE(chunk);
    LoadOptions options;
    options.prefill_chunk = chunk;
    const auto other = load(folder_.path(), options);
    const auto sequence = other->new_sequence();
    sequence->prefill(ids_);
    expect_as_fresh(*sequence, 4);
    sequence->reset();
    for (const int32_t id : ids_) sequence->decode(id);
    expect_as_fresh(*sequence, 4);
    // With predictions in between, right ones and wrong ones.
    sequence->reset();
    sequence->prefill(first(ids_, 3));
    for (size_t i = 3; i < ids_.size(); i += 3) {
      chain(*sequence, ids_[i], i % 2 == 0 ? 2 : 1);
      sequence->all_logits(std::span(ids_).subspan(i, std::min<size_t>(3, ids_.size() - i)));
      chain(*sequence, 1, 1);  // another token than the one that is fed
    }
    expect_as_fresh(*sequence, 4);
  }
}

TEST_P(Predictions, FollowSequencesBackAndForth) {
  const auto sequence = model_->new_sequence();
  sequence->prefill(first(ids_, 9));
  const auto forked = sequence->fork();
  sequence->checkpoint();
  sequence->all_logits(std::span(ids_).subspan(9, 5));
  // Within the last pass, as after a wrong draft.
  sequence->truncate(12);
  sequence->checkpoint();
  const auto again = sequence->fork();
  chain(*sequence, 11, 2);
  sequence->all_logits(Ids{11, 4, 8});
  sequence->truncate(13);
  expect_as_fresh(*sequence, 30);
  expect_as_fresh(*again, 19);
  expect_as_fresh(*forked, 2);
  // Before it, where a hidden state is unknown until a token has been fed.
  sequence->truncate(GetParam().has_recurrence ? 9 : 5);
  EXPECT_FALSE(sequence->predict(Ids{3}).has_value());
  sequence->decode(3);
  EXPECT_EQ(chain(*sequence, 4, 3).size(), 3U);
  sequence->reset();
  sequence->prefill(first(ids_, 4));
  expect_as_fresh(*sequence, 30);
}

TEST_P(Predictions, AreCopiedWithRows) {
  const auto from = model_->new_sequence();
  from->prefill(ids_);
  const runtime::RowLayout layout = from->row_layout();
  const auto count = std::ssize(ids_);
  std::vector<std::byte> bytes(layout.row_bytes() * static_cast<uint64_t>(count));
  from->copy_rows(0, count, bytes);
  std::optional<runtime::SequenceRest> rest;
  if (layout.has_rest) rest = from->copy_rest();
  expect_as_fresh(*from, 4);
  const auto to = model_->new_sequence();
  const runtime::RowPiece piece{bytes, count, 0, count};
  to->append_rows(ids_, {&piece, 1}, rest ? &*rest : nullptr);
  EXPECT_FALSE(to->predict(Ids{4}).has_value());  // the last hidden state is unknown
  // Of the token after the rows the slot is computed as if that state were zero: drafts may differ
  // a little, and texts do not.
  const auto logits = to->decode(4);
  const std::vector<float> have(logits.begin(), logits.end());
  fresh_->reset();
  fresh_->prefill(ids_);
  const auto want = fresh_->decode(4);
  EXPECT_EQ(have, std::vector<float>(want.begin(), want.end()));
  EXPECT_EQ(chain(*to, 5, 3).size(), 3U);
}

TEST_P(Predictions, OfSequencesThatShareAPass) {
  std::vector<std::unique_ptr<Sequence>> sequences;
  std::vector<Ids> fed = {{3, 17, 5}, {22}, {31, 8, 0, 39, 12}};
  for (const Ids& ids : fed) {
    sequences.push_back(model_->new_sequence());
    sequences.back()->prefill(ids);
  }
  runtime::Batch batch(model_);
  for (int step = 0; step < 4; ++step) {
    for (size_t i = 0; i < fed.size(); ++i) {
      fed[i].push_back((fed[i].back() * 5 + step) % 40);
      batch.add(*sequences[i], fed[i].back());
    }
    batch.run();
    batch.clear();
    chain(*sequences[1], step, 2);
  }
  for (size_t i = 0; i < fed.size(); ++i) expect_as_fresh(*sequences[i], 6);
}

TEST_P(Predictions, HaveNoPartInFiles) {
  LoadOptions without;
  without.prediction = false;
  const auto plain_model = load(folder_.path(), without);
  EXPECT_FALSE(plain_model->capabilities().predicts);
  const auto plain = plain_model->new_sequence(), sequence = model_->new_sequence();
  EXPECT_ERROR(plain->predict(Ids{3}), ErrorCode::Unsupported, "the model has no prediction layer");
  EXPECT_EQ(plain_model->digest(), model_->digest());
  sequence->prefill(ids_);
  sequence->save(folder_ / "saved");
  plain->restore(folder_ / "saved");
  plain->save(folder_ / "again");
  const auto restored = model_->new_sequence();
  restored->restore(folder_ / "again");
  EXPECT_FALSE(restored->predict(Ids{4}).has_value());
  const auto row = [](Sequence& one) {
    const auto logits = one.decode(4);
    return std::vector<float>(logits.begin(), logits.end());
  };
  const auto want = row(*sequence);
  EXPECT_EQ(row(*plain), want);
  EXPECT_EQ(row(*restored), want);
  EXPECT_EQ(chain(*restored, 4, 3).size(), 3U);
  EXPECT_ERROR(restored->predict({}), ErrorCode::InvalidArgument, "no tokens to feed");
  EXPECT_ERROR(restored->predict(Ids{40}), ErrorCode::InvalidArgument, "40");
}

TEST_P(Predictions, EndWithTheContext) {
  const auto sequence = model_->new_sequence();
  Ids ids;
  for (int32_t i = 0; i < 46; ++i) ids.push_back(i * 7 % 40);
  sequence->prefill(ids);
  EXPECT_EQ(chain(*sequence, 1, 5).size(), 2U);
  EXPECT_EQ(model_->new_sequence()->predict(Ids{1}), std::nullopt);
}

// As a package, whose values are rounded to fp16.
TEST_P(Predictions, AreKeptByPackages) {
  mil::write_package(build(folder_.path(), models::BuildOptions::Compute::Float16Package),
                     folder_ / "m.mlpackage");
  LoadOptions options;
  options.threads = 1;
  const auto package =
      runtime::make_runnable(runtime::find_packages(folder_ / "m.mlpackage"), options).model;
  ASSERT_TRUE(package->capabilities().predicts);
  const auto sequence = package->new_sequence();
  sequence->prefill(ids_);
  const auto have = chain(*sequence, 4, 3), want = expected(ids_, 4);
  ASSERT_EQ(have.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(have[i].id, want[i].id) << i;
    EXPECT_NEAR(have[i].probability, want[i].probability, 0.02) << i;
  }
}

// --- texts ---

constexpr const char* kSilent[] = {"o_proj.weight", "down_proj.weight", "out_proj.weight"};

// Weights of a model whose next token depends on the last one alone, and of a layer that expects
// it, or, with sign -1, the least likely token.
ValuesOf knowing(float sign) {
  return [sign](const std::string& name, const std::vector<int64_t>& shape) {
    Values values = models::made_weights(name, shape);
    const bool is_silent = std::any_of(
        std::begin(kSilent), std::end(kSilent),
        [&](const char* end) { return name.ends_with(end) || name.find("experts") != name.npos; });
    if (is_silent) std::fill(values.begin(), values.end(), 0.0F);
    if (name.ends_with("norm.weight") || name.find("pre_fc_norm") != name.npos) {
      std::fill(values.begin(), values.end(), 1.0F);
    }
    if (name.ends_with("mtp.fc.weight") || name.ends_with("eh_proj.weight")) {
      std::fill(values.begin(), values.end(), 0.0F);
      for (int64_t i = 0; i < kWidth; ++i) values[static_cast<size_t>(i * 2 * kWidth + i)] = sign;
    }
    return values;
  };
}

GenerateResult generate(Sequence& sequence, const Ids& prompt, const GenerateOptions& options) {
  sequence.reset();
  return runtime::generate(sequence, prompt, options, [](int32_t) { return true; });
}

std::shared_ptr<Drafts> own_drafts(int64_t most, bool always = true) {
  return std::make_shared<Drafts>(
      runtime::DraftOptions{.most = most, .pool_bytes = 0, .lookup = false, .always = always});
}

// Texts with and without drafts, greedy and sampled, to the end of the context. Returns the number
// of accepted drafts of greedy texts.
std::pair<int64_t, int64_t> expect_same_texts(Model& model) {
  const auto sequence = model.new_sequence();
  const Ids prompt = {3, 17, 5, 22};
  int64_t drafted = 0, accepted = 0;
  for (const double temperature : {0.0, 0.8, 2.0}) {
    GenerateOptions options;
    options.max_tokens = 100;
    options.logprobs = 0;
    options.sampling.seed = 5;
    options.sampling.temperature = temperature;
    options.sampling.repetition_penalty = temperature > 1 ? 1.2 : 1;
    const GenerateResult want = generate(*sequence, prompt, options);
    const Ids fed(sequence->tokens().begin(), sequence->tokens().end());
    EXPECT_EQ(want.reason, runtime::StopReason::ContextFull);
    for (const int64_t most : {1, 2, 5, 15}) {
      SCOPED_TRACE(fmt::format("temperature {}, {} drafts", temperature, most));
      for (const bool always : {true, false}) {
        options.drafts = own_drafts(most, always);
        const GenerateResult have = generate(*sequence, prompt, options);
        EXPECT_EQ(have.ids, want.ids);
        EXPECT_EQ(have.reason, want.reason);
        EXPECT_EQ(Ids(sequence->tokens().begin(), sequence->tokens().end()), fed);
        for (size_t i = 0; i < want.logprobs.size(); ++i) {
          EXPECT_EQ(have.logprobs[i].chosen.logprob, want.logprobs[i].chosen.logprob) << i;
        }
        if (always && temperature == 0) {
          drafted += have.drafted;
          accepted += have.accepted;
        }
        if (always) {
          EXPECT_GT(have.drafted, 0);
        }
      }
    }
  }
  return {drafted, accepted};
}

TEST_P(Predictions, ChangeNoText) {
  expect_same_texts(*model_);
}

TEST_P(Predictions, AreAllAcceptedIfTheyAreRight) {
  write_case(folder_.path(), GetParam(), knowing(1));
  const auto [drafted, accepted] = expect_same_texts(*load(folder_.path()));
  EXPECT_GT(accepted, 100);
  EXPECT_EQ(accepted, drafted);
}

TEST_P(Predictions, AreAllRejectedIfTheyAreWrong) {
  write_case(folder_.path(), GetParam(), knowing(-1));
  const auto [drafted, accepted] = expect_same_texts(*load(folder_.path()));
  EXPECT_GT(drafted, 100);
  EXPECT_EQ(accepted, 0);
}

// Turns of a conversation and requests that share passes, with the prompt cache.
TEST_P(Predictions, OfRequestsToAScheduler) {
  write_case(folder_.path(), GetParam(), knowing(1));
  model_ = load(folder_.path());
  fresh_ = model_->new_sequence();
  scheduling::Scheduler scheduler(
      model_, scheduling::tokenizer(),
      {.drafts = own_drafts(15), .cache_ram = static_cast<uint64_t>(scheduling::kPlenty)});
  const auto request_of = [](const Ids& prompt, int64_t tokens) {
    scheduling::Request request{prompt, {}};
    request.options.max_tokens = tokens;
    return request;
  };
  const auto want = [&](const Ids& prompt, int64_t tokens) {
    GenerateOptions options;
    options.max_tokens = tokens;
    return generate(*fresh_, prompt, options).ids;
  };
  Ids text = {5, 6, 7};
  int64_t accepted = 0;
  for (int32_t turn = 0; turn < 4; ++turn) {
    const auto asked = scheduling::ask(scheduler, request_of(text, 9));
    accepted += asked.heard->wait().accepted_tokens;
    ASSERT_EQ(asked.heard->ids, want(text, 9)) << turn;
    text.insert(text.end(), asked.heard->ids.begin(), asked.heard->ids.end());
    text.push_back(turn);
    scheduling::wait_until_idle(scheduler);
  }
  EXPECT_GT(accepted, 16);
  std::vector<scheduling::Asked> together;
  together.reserve(4);
  for (int32_t i = 0; i < 4; ++i) {
    together.push_back(scheduling::ask(scheduler, request_of({i, 2, 30 + i}, 8 + 6 * i)));
  }
  for (int32_t i = 0; i < 4; ++i) {
    const auto& heard = *together[static_cast<size_t>(i)].heard;
    together[static_cast<size_t>(i)].heard->wait();
    EXPECT_EQ(heard.ids, want({i, 2, 30 + i}, 8 + 6 * i)) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Predictions, testing::ValuesIn(kCases),
                         [](const auto& given) { return given.param.name; });

// A layer of which tensors are missing: a warning, and no drafts.
TEST(Prediction, NeedsAllItsTensors) {
  const TempDir folder;
  PredictionForm form = qwen_form(kWidth);
  form.others.erase("mtp.norm.weight");
  write_predicting_model(folder.path(), config_of(kCases[0]), 1, form);
  std::string said;
  const LogScope log(LogLevel::Warn,
                     [&](LogLevel, std::string_view line) { said += std::string(line) + "\n"; });
  EXPECT_FALSE(load(folder.path())->capabilities().predicts);
  EXPECT_NE(said.find("no drafts of the prediction layer: "), std::string::npos) << said;
  EXPECT_NE(said.find("'mtp.norm.weight'"), std::string::npos) << said;
}

}  // namespace
}  // namespace pippin
