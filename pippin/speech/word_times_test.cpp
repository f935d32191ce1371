#include "pippin/speech/word_times.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "pippin/speech/scripted_model_testing.h"

namespace pippin::speech {
namespace {

SpecialTokens test_special_tokens() {
  return read_special_tokens(test_tokenizer(50),
                             Json::parse(R"({"is_multilingual": true})", "generation_config.json"),
                             kTestVocabulary, 50);
}

// Attention of `tokens` tokens in two heads: token `before` + i looks at position places[i], with
// some attention to all others; tokens before look at the first position.
Alignment looking_at(const std::vector<int64_t>& places, int64_t before) {
  Alignment attention;
  attention.heads = 2;
  attention.tokens = before + std::ssize(places) + 1;
  attention.positions = 50;
  for (int64_t head = 0; head < 2; ++head) {
    for (int64_t token = 0; token < attention.tokens; ++token) {
      const int64_t i = std::clamp<int64_t>(token - before, 0, std::ssize(places) - 1);
      const int64_t place = token < before ? 0 : places[static_cast<size_t>(i)];
      double sum = 0;
      std::vector<double> row;
      for (int64_t position = 0; position < 50; ++position) {
        row.push_back(std::exp(-0.5 * std::abs(static_cast<double>(position - place))));
        sum += row.back();
      }
      for (const double weight : row) attention.weights.push_back(static_cast<float>(weight / sum));
    }
  }
  return attention;
}

TEST(SetWordTimes, FollowTheAttention) {
  const SpecialTokens tokens = test_special_tokens();
  const auto text = test_tokens("abcd");
  std::vector<TokenWord> words = {{"ab", {text[0], text[1]}}, {"cd", {text[2], text[3]}}};
  // The row of each token predicts the next one.
  Alignment attention = looking_at({5, 10, 20, 30, 40}, 3);
  for (int64_t i = 0; i < attention.tokens; ++i) {
    // The tokens from <|notimestamps|> on predict text tokens with a logit of 2, and "d" with 0.
    std::vector<float> logits(static_cast<size_t>(kTestVocabulary));
    if (i >= 3 && i < 6) logits[static_cast<size_t>(text[static_cast<size_t>(i - 3)])] = 2;
    attention.logits.insert(attention.logits.end(), logits.begin(), logits.end());
  }
  set_word_times(words, attention, 3, 50, tokens, 0.02);
  EXPECT_NEAR(words[0].start, 0, 1e-9);  // the path begins at the first position
  EXPECT_NEAR(words[0].end, words[1].start, 1e-9);
  EXPECT_NEAR(words[1].start, 0.02 * 15, 0.021 * 3);
  EXPECT_NEAR(words[1].end, 0.02 * 35, 0.021 * 3);
  const double likely = std::exp(2) / (std::exp(2) + 255);
  EXPECT_NEAR(words[0].probability, likely, 1e-6);
  EXPECT_NEAR(words[1].probability, (likely + 1.0 / 256) / 2, 1e-6);
}

TEST(AddWords, WordsOfSegmentsHaveTimesInTheRecording) {
  ScriptedModel model(kTestVocabulary, [](int64_t, const auto&) { return sure_of(0); });
  model.attention = looking_at({0, 4, 10, 14, 20, 24, 30}, 3);
  const SpecialTokens tokens = test_special_tokens();
  const Tokenizer tokenizer = test_tokenizer(50);
  const std::vector<float> features = {0};
  const auto decoder = model.encode(features);
  std::vector<Segment> segments(2);
  segments[0].tokens = test_tokens("<0> a b<20>");
  segments[0].start = 1;
  segments[0].end = 1.4;
  segments[1].tokens = test_tokens("<20> c<40>");
  segments[1].start = 1.4;
  segments[1].end = 1.8;
  add_words(segments,
            {model,
             *decoder,
             tokenizer,
             tokens,
             {TestTokens::kStart, TestTokens::kEn, TestTokens::kTranscribe},
             "en",
             1.0,
             80,
             1.0},
            {});
  ASSERT_EQ(segments[0].words.size(), 2U);
  ASSERT_EQ(segments[1].words.size(), 1U);
  EXPECT_EQ(segments[0].words[1].text, " b");
  EXPECT_EQ(segments[1].words[0].text, " c");
  EXPECT_EQ(segments[0].words[0].start, 1.0);
  EXPECT_EQ(segments[0].words[0].end, segments[0].words[1].start);
  EXPECT_NEAR(segments[0].words[1].start, 1.0 + 0.02 * 7, 0.061);
  EXPECT_NEAR(segments[1].words[0].start, 1.0 + 0.02 * 17, 0.061);
  // The segments' times are those of their words.
  EXPECT_EQ(segments[0].start, segments[0].words[0].start);
  EXPECT_EQ(segments[0].end, segments[0].words[1].end);
  EXPECT_EQ(segments[1].end, segments[1].words[0].end);
}

}  // namespace
}  // namespace pippin::speech
