#include "pippin/speech/window_task.h"

#include <cmath>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/speech/scripted_model_testing.h"

namespace pippin::speech {
namespace {

using Ids = std::vector<int32_t>;

class WindowTaskTest : public testing::Test {
 protected:
  WindowText decode(ScriptedModel::Script script, const Ids& previous = {}) {
    model_ = std::make_unique<ScriptedModel>(kTestVocabulary, std::move(script));
    const Json config = Json::parse(config_, "generation_config.json");
    tokens_ = read_special_tokens(tokenizer_, config, kTestVocabulary, 50);
    WindowTask task(*model_, tokenizer_, tokens_, options_, config);
    const std::vector<float> features = {0};
    const auto decoder = model_->encode(features);
    const WindowText text = task.decode(*decoder, previous, "de");
    EXPECT_EQ(decoder->position(), 0);
    return text;
  }

  const Tokenizer tokenizer_ = test_tokenizer(50);
  std::string config_ = R"({"is_multilingual": true, "suppress_tokens": []})";
  SpecialTokens tokens_;
  TranscribeOptions options_;
  std::unique_ptr<ScriptedModel> model_;
};

TEST_F(WindowTaskTest, PromptHasPreviousTextLanguageAndTask) {
  const auto script = writes([](int64_t) { return "<0>hi<9>"; });
  const WindowText text = decode(script, {'a', 'b'});
  EXPECT_EQ(text.tokens, test_tokens("<0>hi<9>"));
  EXPECT_EQ(model_->prompts.at(0), (Ids{TestTokens::kPrevious, 'a', 'b', TestTokens::kStart,
                                        TestTokens::kDe, TestTokens::kTranscribe}));
  options_.task = Task::Translate;
  options_.without_timestamps = true;
  EXPECT_EQ(decode(writes([](int64_t) { return "hi"; })).tokens, test_tokens("hi"));
  EXPECT_EQ(model_->prompts.at(0), (Ids{TestTokens::kStart, TestTokens::kDe, TestTokens::kTranslate,
                                        TestTokens::kNoTimestamps}));
  config_ = R"({"is_multilingual": false, "suppress_tokens": []})";
  EXPECT_EQ(decode(writes([](int64_t) { return "hi"; })).tokens, test_tokens("hi"));
  EXPECT_EQ(model_->prompts.at(0), (Ids{TestTokens::kStart, TestTokens::kNoTimestamps}));
}

TEST_F(WindowTaskTest, PreviousTextHasRoomForHalfOfTheContext) {
  Ids previous(40, 'a');
  previous.back() = 'z';
  decode(writes([](int64_t) { return "<0>hi<9>"; }), previous);
  Ids prompt = model_->prompts.at(0);
  EXPECT_EQ(prompt.size(), 1U + 31 + 3);  // the context is 64
  EXPECT_EQ(prompt[31], 'z');
  options_.hotwords = "Pip";
  decode(writes([](int64_t) { return "<0>hi<9>"; }), previous);
  prompt = model_->prompts.at(0);
  EXPECT_EQ(prompt.size(), 1U + 31 + 3);
  EXPECT_EQ(Ids(prompt.begin() + 1, prompt.begin() + 6), test_tokens(" Pipa"));
  options_.hotwords = std::string(50, 'h');
  decode(writes([](int64_t) { return "<0>hi<9>"; }), previous);
  EXPECT_EQ(model_->prompts.at(0).size(), 1U + 31 + 3);
}

TEST_F(WindowTaskTest, MeasuresTheText) {
  // Logits of 20 and 0: the best token has probability e^20 / (e^20 + n).
  const WindowText text = decode(writes([](int64_t) { return "<0>aaaa<9>"; }));
  EXPECT_NEAR(text.avg_logprob, 0, 1e-4);
  EXPECT_EQ(text.temperature, 0);
  EXPECT_NEAR(text.compression_ratio, 4.0 / 11, 0.1);  // zlib's form of 4 bytes has 11 or 12
  EXPECT_NEAR(text.no_speech_prob, std::exp(-20), 1e-10);
}

TEST_F(WindowTaskTest, MaximumOfTokens) {
  options_.max_tokens = 3;
  EXPECT_EQ(decode(writes([](int64_t) { return "<0>abcdef<9>"; })).tokens, test_tokens("<0>ab"));
  options_.max_tokens = 0;  // half of the context
  EXPECT_EQ(decode(writes([](int64_t) { return "<0>" + std::string(60, 'x'); })).tokens.size(),
            32U);
  // A long prompt leaves less room: the last token needs not be fed.
  options_.max_tokens = 60;
  options_.compression_ratio_threshold.reset();
  EXPECT_EQ(decode(writes([](int64_t) { return "<0>" + std::string(60, 'x'); }), Ids(31, 'a'))
                .tokens.size(),
            64U - 35 + 1);
}

TEST_F(WindowTaskTest, RepetitiveTextsAreDecodedAtHigherTemperatures) {
  options_.best_of = 2;
  // The script is the same at each temperature, so all of them fail.
  const std::string text = "<0>" + std::string(28, 'x') + "<9>";
  const auto script = writes([&](int64_t) { return text; });
  const WindowText last = decode(script);
  EXPECT_EQ(last.temperature, 1);
  EXPECT_GT(last.compression_ratio, 2.4);
  options_.compression_ratio_threshold = 5;
  EXPECT_EQ(decode(script).temperature, 0);
  options_.compression_ratio_threshold.reset();
  EXPECT_EQ(decode(script).temperature, 0);
}

// All tokens are equally probable, after a start without speech.
std::vector<float> unsure(int64_t /*window*/, const Ids& fed) {
  if (fed.back() == TestTokens::kStart) return sure_of(TestTokens::kNoSpeech);
  return std::vector<float>(static_cast<size_t>(kTestVocabulary));
}

TEST_F(WindowTaskTest, ImprobableTextsAreDecodedAgainUnlessTheyAreSilence) {
  options_.temperatures = {0, 0.4};
  options_.compression_ratio_threshold.reset();
  const WindowText silence = decode(unsure);
  EXPECT_EQ(silence.temperature, 0);
  EXPECT_LT(silence.avg_logprob, -1);
  EXPECT_NEAR(silence.no_speech_prob, 1, 1e-6);
  options_.no_speech_threshold.reset();
  EXPECT_EQ(decode(unsure).temperature, 0.4);
  options_.logprob_threshold = -100;
  EXPECT_EQ(decode(unsure).temperature, 0);
}

TEST_F(WindowTaskTest, BeamsFindATextThatIsNotGreedy) {
  options_.without_timestamps = true;
  options_.suppress_blank = false;
  // "a" is more likely than "b", but then nothing is.
  const auto script = [](int64_t, const Ids& fed) {
    if (fed.back() == TestTokens::kStart) return sure_of(TestTokens::kEn);
    std::vector<float> logits(static_cast<size_t>(kTestVocabulary), -30);
    if (fed.back() == TestTokens::kNoTimestamps) {
      logits['a'] = 1;
      logits['b'] = 0.8F;
    } else if (fed.back() == 'a') {
      std::fill(logits.begin(), logits.begin() + 200, 0.0F);
    } else {
      logits[TestTokens::kEnd] = 1;
    }
    return logits;
  };
  options_.logprob_threshold.reset();
  EXPECT_EQ(decode(script).tokens.at(0), 'a');
  options_.beam_size = 3;
  EXPECT_EQ(decode(script).tokens, (Ids{'b'}));
}

TEST_F(WindowTaskTest, DetectsTheLanguage) {
  ScriptedModel model(kTestVocabulary, [](int64_t, const Ids&) {
    std::vector<float> logits(static_cast<size_t>(kTestVocabulary), 9);
    logits[TestTokens::kEn] = 0;
    logits[TestTokens::kDe] = std::log(2.0F);
    logits[TestTokens::kZh] = std::log(5.0F);
    return logits;
  });
  const Json config = Json::parse(config_, "generation_config.json");
  tokens_ = read_special_tokens(tokenizer_, config, kTestVocabulary, 50);
  const std::vector<float> features = {0};
  const auto decoder = model.encode(features);
  const auto languages = detect_languages(*decoder, tokens_);
  ASSERT_EQ(languages.size(), 3U);
  EXPECT_EQ(languages[0].first, "zh");
  EXPECT_NEAR(languages[0].second, 5.0 / 8, 1e-6);
  EXPECT_EQ(languages[2].first, "en");
  EXPECT_NEAR(languages[2].second, 1.0 / 8, 1e-6);
  tokens_.languages.clear();
  EXPECT_ERROR(detect_languages(*decoder, tokens_), ErrorCode::InvalidArgument, "English only");
}

}  // namespace
}  // namespace pippin::speech
