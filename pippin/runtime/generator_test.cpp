#include "pippin/runtime/generator.h"

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/runtime/fake_model.h"

namespace pippin::runtime {
namespace {

using Ids = std::vector<int32_t>;

const auto go_on = [](int32_t) { return true; };

std::unique_ptr<Sequence> fake_sequence(int64_t context, int64_t vocab_size) {
  return std::make_shared<FakeModel>(context, vocab_size)->new_sequence();
}

Ids fed(const Sequence& sequence) {
  return {sequence.tokens().begin(), sequence.tokens().end()};
}

TEST(Generator, StopsAtTheTokenLimit) {
  const auto sequence = fake_sequence(100, 50);
  Ids streamed;
  const auto result = generate(*sequence, Ids{1, 2, 3}, {.max_tokens = 4}, [&](int32_t id) {
    streamed.push_back(id);
    return true;
  });
  EXPECT_EQ(result.ids, (Ids{4, 5, 6, 7}));
  EXPECT_EQ(streamed, result.ids);
  EXPECT_EQ(result.reason, StopReason::MaxTokens);
  EXPECT_EQ(fed(*sequence), (Ids{1, 2, 3, 4, 5, 6}));  // the last token is not fed
  EXPECT_EQ(result.timings.prompt_tokens, 3);
  EXPECT_EQ(result.timings.token_seconds.size(), 3u);  // the prompt's pass gave the first token
  EXPECT_GE(result.timings.first_token_seconds, result.timings.prompt_seconds);
}

TEST(Generator, StopsAtAnyEndToken) {
  const auto sequence = fake_sequence(100, 50);
  const auto result = generate(*sequence, Ids{1}, {.end_ids = {30, 5}}, go_on);
  EXPECT_EQ(result.ids, (Ids{2, 3, 4}));
  EXPECT_EQ(result.reason, StopReason::EndOfText);
}

TEST(Generator, TellsOfEachTokenAsItIsChosen) {
  const auto sequence = fake_sequence(100, 50);
  Ids chosen;
  std::vector<bool> ends;
  GenerateOptions options{.end_ids = {5}};
  options.on_chosen = [&](const ChosenToken& token) {
    chosen.push_back(token.id);
    ends.push_back(token.is_end);
    EXPECT_EQ(token.logits.size(), 50u);
    EXPECT_EQ(token.logits[static_cast<size_t>(token.id)], 10.0F);
    EXPECT_FALSE(token.was_drafted);
  };
  size_t called = 0;
  generate(*sequence, Ids{1}, options, [&](int32_t id) {
    EXPECT_EQ(chosen.back(), id);
    return ++called > 0;
  });
  EXPECT_EQ(chosen, (Ids{2, 3, 4, 5}));
  EXPECT_EQ(ends, (std::vector<bool>{false, false, false, true}));
  EXPECT_EQ(called, 3u);
}

// An exception of a callback passes through, and the sequence keeps the tokens chosen before.
TEST(Generator, WhatIsThrownWhereATokenIsChosenComesOut) {
  const auto sequence = fake_sequence(100, 50);
  GenerateOptions options;
  options.on_chosen = [](const ChosenToken& token) {
    if (token.id == 4) fail(ErrorCode::Cancelled, "enough");
  };
  EXPECT_ERROR(generate(*sequence, Ids{1}, options, go_on), ErrorCode::Cancelled, "enough");
  EXPECT_EQ(fed(*sequence), (Ids{1, 2, 3}));
}

TEST(Generator, FillsTheContext) {
  const auto sequence = fake_sequence(5, 50);
  const auto result = generate(*sequence, Ids{1, 2, 3}, {}, go_on);
  EXPECT_EQ(result.ids, (Ids{4, 5, 6}));
  EXPECT_EQ(result.reason, StopReason::ContextFull);
  EXPECT_EQ(sequence->position(), 5);
}

TEST(Generator, APromptThatFillsTheContextPredictsOneToken) {
  const auto sequence = fake_sequence(3, 50);
  const auto result = generate(*sequence, Ids{1, 2, 3}, {}, go_on);
  EXPECT_EQ(result.ids, (Ids{4}));
  EXPECT_EQ(result.reason, StopReason::ContextFull);
}

TEST(Generator, RefusesAPromptLongerThanTheContext) {
  const auto sequence = fake_sequence(3, 50);
  EXPECT_ERROR(generate(*sequence, Ids{1, 2, 3, 4}, {}, go_on), ErrorCode::LimitExceeded,
               "the prompt has 4 tokens, the model's context holds 3");
  EXPECT_EQ(sequence->position(), 0);
}

TEST(Generator, RefusesWrongPrompts) {
  const auto sequence = fake_sequence(10, 50);
  EXPECT_ERROR(generate(*sequence, {}, {}, go_on), ErrorCode::InvalidArgument, "no tokens to feed");
  EXPECT_ERROR(generate(*sequence, Ids{50}, {}, go_on), ErrorCode::InvalidArgument,
               "token id 50 is not in the model's vocabulary of 50");
  EXPECT_ERROR(generate(*sequence, Ids{-1}, {}, go_on), ErrorCode::InvalidArgument,
               "token id -1 is not in the model's vocabulary of 50");
}

TEST(Generator, TheCallerMayStopIt) {
  const auto sequence = fake_sequence(100, 50);
  const auto result = generate(*sequence, Ids{1}, {}, [](int32_t id) { return id != 3; });
  EXPECT_EQ(result.ids, (Ids{2, 3}));
  EXPECT_EQ(result.reason, StopReason::Callback);
}

TEST(Generator, GoesOnAfterWhatTheModelWasFed) {
  const auto sequence = fake_sequence(100, 50);
  generate(*sequence, Ids{1}, {.max_tokens = 2}, go_on);
  const auto result = generate(*sequence, Ids{3, 10}, {.max_tokens = 1}, go_on);
  EXPECT_EQ(result.ids, (Ids{11}));
  EXPECT_EQ(fed(*sequence), (Ids{1, 2, 3, 10}));
}

TEST(Generator, NoTokensAreNone) {
  const auto sequence = fake_sequence(100, 50);
  const auto result = generate(*sequence, Ids{1}, {.max_tokens = 0}, go_on);
  EXPECT_TRUE(result.ids.empty());
  EXPECT_EQ(result.reason, StopReason::MaxTokens);
}

TEST(Generator, CancelledBetweenTokensKeepsThem) {
  const auto sequence = fake_sequence(100, 50);
  CancelToken token;
  const CancelScope scope(token);
  const auto result = generate(*sequence, Ids{1}, {}, [&](int32_t id) {
    if (id == 4) token.request();
    return true;
  });
  EXPECT_EQ(result.ids, (Ids{2, 3, 4}));
  EXPECT_EQ(result.reason, StopReason::Cancelled);
}

TEST(Generator, CancelledInThePrompt) {
  const auto model = std::make_shared<FakeModel>(100, 50);
  const auto sequence = model->new_sequence();
  CancelToken token;
  const CancelScope scope(token);
  model->before_forward = [&](int64_t) {
    token.request();
    check_cancel();
  };
  const auto result = generate(*sequence, Ids{1}, {}, go_on);
  EXPECT_TRUE(result.ids.empty());
  EXPECT_EQ(result.reason, StopReason::Cancelled);
}

// Keeps the last 5 of 12 tokens on a shift.
std::unique_ptr<Sequence> shifting_sequence() {
  return std::make_shared<FakeModel>(12, 100, FakeModel::Options{.tokens_after_shift = 5})
      ->new_sequence();
}

TEST(Generator, AFullContextShifts) {
  const auto sequence = shifting_sequence();
  GenerateOptions options{.max_tokens = 18};
  options.overflow = Overflow::Shift;
  const auto result = generate(*sequence, Ids{1, 2, 3}, options, go_on);
  EXPECT_EQ(result.reason, StopReason::MaxTokens);
  EXPECT_EQ(result.ids.size(), 18U);
  EXPECT_EQ(result.ids.back(), 21);
  // Full with 1..12; restarted with the last 5 of 1..13, full with 9..20; restarted with 17..21.
  EXPECT_EQ(result.shifts, 1);
  EXPECT_EQ(sequence->tokens().front(), 9);
  EXPECT_EQ(sequence->tokens().back(), 20);
}

TEST(Generator, AFullContextIsAnErrorWhereAsked) {
  const auto sequence = shifting_sequence();
  GenerateOptions options;
  options.overflow = Overflow::Error;
  size_t tokens = 0;
  EXPECT_ERROR(generate(*sequence, Ids{1, 2, 3}, options,
                        [&](int32_t) {
                          ++tokens;
                          return true;
                        }),
               ErrorCode::LimitExceeded, "prompt and text fill the model's context of");
  EXPECT_EQ(tokens, 10U);
}

TEST(Generator, AModelThatSlidesGoesOnOnlyWhereAsked) {
  const auto sequence = std::make_shared<FakeModel>(
                            4, 100, FakeModel::Options{.capabilities = {.sliding_window = true}})
                            ->new_sequence();
  GenerateOptions options{.max_tokens = 9};
  EXPECT_EQ(generate(*sequence, Ids{1, 2}, options, go_on).reason, StopReason::ContextFull);
  sequence->reset();
  EXPECT_ERROR(generate(*sequence, Ids{1, 2, 3, 4, 5}, options, go_on), ErrorCode::LimitExceeded,
               "the prompt has 5 tokens, the model's context holds");
  options.overflow = Overflow::Shift;
  const auto result = generate(*sequence, Ids{1, 2, 3, 4, 5}, options, go_on);
  EXPECT_EQ(result.ids.back(), 14);
  EXPECT_EQ(result.shifts, -1);
  EXPECT_EQ(sequence->position(), 13);
}

}  // namespace
}  // namespace pippin::runtime
