#include "pippin/speech/segments.h"

#include <gtest/gtest.h>

#include "pippin/speech/scripted_model_testing.h"

namespace pippin::speech {
namespace {

// The spans of a window of 90 frames, as "begin-end@start-end", and the next frame.
std::string cut(std::string_view text) {
  SpecialTokens tokens;
  tokens.end_of_text = TestTokens::kEnd;
  tokens.timestamp_begin = TestTokens::kTime;
  const WindowShape shape{100, 50, 0.01};
  const WindowCut cut = cut_window(test_tokens(text), tokens, shape, 90);
  std::string out;
  for (const TokenSpan& span : cut.spans) {
    out += fmt::format("{}-{}@{}-{} ", span.begin, span.end, span.start_frame, span.end_frame);
  }
  return out + fmt::format("next {}{}", cut.next_frame, cut.ends_after_timestamp ? " ended" : "");
}

TEST(CutWindow, CutsBetweenConsecutiveTimestamps) {
  EXPECT_EQ(cut("<0>ab<10><12>c<20><20>"), "0-4@0-20 4-7@24-40 next 40");
}

TEST(CutWindow, LeavesUnfinishedTextToTheNextWindow) {
  EXPECT_EQ(cut("<0>ab<10><12>cde"), "0-4@0-20 next 20");
}

TEST(CutWindow, SingleTimestampAtTheEndEndsTheSpeech) {
  EXPECT_EQ(cut("<0>ab<10><12>c<20>"), "0-4@0-20 4-7@24-40 next 90 ended");
  EXPECT_EQ(cut("<0>ab<10>"), "0-4@0-20 next 90 ended");
}

TEST(CutWindow, WithoutPairsIsOneSegment) {
  EXPECT_EQ(cut("ab"), "0-2@0-90 next 90");
  EXPECT_EQ(cut("<0>ab"), "0-3@0-90 next 90");
  EXPECT_EQ(cut("<5>ab"), "0-3@0-10 next 90");  // as OpenAI's code: the last timestamp counts
  EXPECT_EQ(cut("<5>"), "0-1@0-10 next 90");
  EXPECT_EQ(cut(""), "0-0@0-90 next 90");
}

TEST(CutWindow, TextWithoutTheRulesMayStartWithoutATimestamp) {
  EXPECT_EQ(cut("ab<10><12>"), "0-3@0-20 next 20");
}

TEST(DecodeText, LeavesSpecialTokensOut) {
  const Tokenizer tokenizer = test_tokenizer(50);
  SpecialTokens tokens;
  tokens.end_of_text = TestTokens::kEnd;
  EXPECT_EQ(decode_text(tokenizer, tokens, test_tokens("<0> a b<4>$")), " a b");
  EXPECT_EQ(prompt_tokens(tokenizer, "  x \n"), test_tokens(" x"));
  EXPECT_EQ(trimmed(" \n\t"), "");
  EXPECT_EQ(trimmed(" a b "), "a b");
}

}  // namespace
}  // namespace pippin::speech
