#include "pippin/speech/transcriber.h"

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/speech/scripted_model_testing.h"

namespace pippin::speech {
namespace {

using Ids = std::vector<int32_t>;

class TranscriberTest : public testing::Test {
 protected:
  Transcription transcribe(int64_t frames, std::function<std::string(int64_t)> text_of) {
    return transcribe(frames, writes(std::move(text_of)));
  }
  Transcription transcribe(int64_t frames, ScriptedModel::Script script) {
    model_ = std::make_unique<ScriptedModel>(kTestVocabulary, std::move(script));
    model_->attention = attention_;
    source_ = std::make_unique<CountedSource>(frames);
    const Json config = Json::parse(config_, "generation_config.json");
    Transcriber transcriber(*model_, test_tokenizer(50), config, options_);
    return transcriber.transcribe(*source_, events_);
  }

  // "seek start-end text" of each segment.
  static std::string segments_of(const Transcription& transcription) {
    std::string out;
    for (const Segment& segment : transcription.segments) {
      out += fmt::format("{} {}-{}{}\n", segment.seek, segment.start, segment.end, segment.text);
    }
    return out;
  }

  std::string config_ = R"({"is_multilingual": true, "suppress_tokens": []})";
  TranscribeOptions options_;
  Events events_;
  Alignment attention_;
  std::unique_ptr<ScriptedModel> model_;
  std::unique_ptr<CountedSource> source_;
};

TEST_F(TranscriberTest, WindowsFollowTheLastTimestamps) {
  std::vector<std::string> told;
  std::string progress;
  events_.segment = [&](const Segment& segment) { told.push_back(segment.text); };
  events_.progress = [&](double done, double seconds) {
    progress += fmt::format("{:.3g}/{:.3g} ", done, seconds);
  };
  const Transcription result = transcribe(250, [](int64_t window) {
    if (window == 0) return "<0> a<10><12> b<40><40> c";  // c is left to the next window
    if (window == 80) return "<0> c<5>";                  // and no speech after it
    return "<10> d<20><20>";
  });
  EXPECT_EQ(segments_of(result),
            "0 0-0.2 a\n0 0.24-0.8 b\n80 0.8-0.9 c\n180 2-2.2 d\n220 2.4-2.6 d\n");
  EXPECT_EQ(source_->counts, (std::vector<int64_t>{100, 100, 70, 30}));
  EXPECT_EQ(result.text, " a b c d d");
  EXPECT_EQ(result.language, "de");  // detected
  EXPECT_EQ(result.duration, 2.5);
  EXPECT_EQ(result.segments[2].id, 2);
  EXPECT_EQ(result.segments[1].tokens, test_tokens("<12> b<40>"));
  EXPECT_EQ(told, (std::vector<std::string>{" a", " b", " c", " d", " d"}));
  EXPECT_EQ(progress, "0/2.5 0.8/2.5 1.8/2.5 2.2/2.5 2.5/2.5 ");
}

TEST_F(TranscriberTest, PreviousTextConditionsTheNextWindow) {
  options_.language = "en";
  options_.initial_prompt = "Pip";
  const auto text = [](int64_t window) { return window == 0 ? "<0> a<50>" : "<0> b<50>"; };
  transcribe(300, text);
  ASSERT_EQ(model_->prompts.size(), 3U);
  const auto before_start = [&](size_t i) {
    const Ids& ids = model_->prompts[i];
    return Ids(ids.begin(), std::find(ids.begin(), ids.end(), TestTokens::kStart));
  };
  const auto previous = [](std::string_view ids) {
    Ids all = {TestTokens::kPrevious};
    for (const int32_t id : test_tokens(ids)) all.push_back(id);
    return all;
  };
  EXPECT_EQ(before_start(0), previous(" Pip"));
  EXPECT_EQ(before_start(1), previous(" Pip<0> a<50>"));
  EXPECT_EQ(before_start(2), previous(" Pip<0> a<50><0> b<50>"));
  options_.condition_on_previous_text = false;
  transcribe(300, text);
  EXPECT_EQ(before_start(0), previous(" Pip"));
  EXPECT_EQ(before_start(1), Ids{});
  options_.carry_initial_prompt = true;
  transcribe(300, text);
  EXPECT_EQ(before_start(1), previous(" Pip"));
  EXPECT_EQ(before_start(2), previous(" Pip"));
}

TEST_F(TranscriberTest, TextOfAHighTemperatureIsNoContext) {
  options_.language = "en";
  options_.temperatures = {0.6};
  const auto text = [](int64_t window) { return window == 0 ? "<0> a<50>" : "<0> b<50>"; };
  EXPECT_EQ(transcribe(200, text).segments[0].temperature, 0.6);
  EXPECT_EQ(model_->prompts[1].front(), TestTokens::kStart);
  options_.temperatures = {0.5};
  transcribe(200, text);
  EXPECT_EQ(model_->prompts[1].front(), TestTokens::kPrevious);
}

TEST_F(TranscriberTest, SilenceIsSkipped) {
  options_.language = "en";
  const auto script = [](int64_t window, const Ids& fed) {
    if (fed.back() == TestTokens::kStart) {
      return sure_of(window == 100 ? TestTokens::kNoSpeech : TestTokens::kEn);
    }
    if (window == 100) return std::vector<float>(static_cast<size_t>(kTestVocabulary));
    return writes([](int64_t) { return "<0> a<50>"; })(window, fed);
  };
  EXPECT_EQ(segments_of(transcribe(300, script)), "0 0-1 a\n200 2-3 a\n");
  // Improbable text is kept if silence is not looked for.
  options_.no_speech_threshold.reset();
  options_.temperatures = {0};
  const Transcription kept = transcribe(300, script);
  EXPECT_TRUE(std::any_of(kept.segments.begin(), kept.segments.end(),
                          [](const Segment& segment) { return segment.seek == 100; }));
}

TEST_F(TranscriberTest, OnlyTheClipsAreTranscribed) {
  options_.clip_timestamps = {0.5, 1.2, 2.9};
  const Transcription result = transcribe(350, [](int64_t) { return "<0> a<10>"; });
  EXPECT_EQ(segments_of(result), "50 0.5-0.7 a\n290 2.9-3.1 a\n");
  EXPECT_EQ(source_->counts, (std::vector<int64_t>{70, 60}));
  // Texts that end after their clips.
  options_.clip_timestamps = {0, 0.5, 0.6, 1, 1.1, 1.6};
  const Transcription late = transcribe(350, [](int64_t) { return "<0> a<40><40>"; });
  EXPECT_EQ(segments_of(late), "0 0-0.8 a\n60 0.6-1.4 a\n110 1.1-1.9 a\n");
  options_.clip_timestamps = {9};
  EXPECT_EQ(segments_of(transcribe(350, [](int64_t) { return "<0> a<10>"; })), "");
}

TEST_F(TranscriberTest, EmptySegmentsAreCleared) {
  const Transcription result = transcribe(100, [](int64_t) { return "<0>  <10><10> a<40>"; });
  EXPECT_EQ(segments_of(result), "0 0-0.2\n0 0.2-0.8 a\n");
  EXPECT_TRUE(result.segments[0].tokens.empty());
  EXPECT_EQ(result.text, " a");
}

TEST_F(TranscriberTest, TextWithoutTimestampsAdvancesByWindows) {
  options_.without_timestamps = true;
  options_.suppress_blank = false;
  const Transcription result =
      transcribe(150, [](int64_t window) { return window == 0 ? " a" : " b"; });
  EXPECT_EQ(segments_of(result), "0 0-1 a\n100 1-1.5 b\n");
}

TEST_F(TranscriberTest, NothingIsDecodedOfAnEmptyRecording) {
  const Transcription result = transcribe(0, [](int64_t) { return "<0> a<10>"; });
  EXPECT_TRUE(result.segments.empty());
  EXPECT_EQ(result.language, "");
}

TEST_F(TranscriberTest, WordsMoveTheNextWindow) {
  options_.word_timestamps = true;
  options_.language = "en";
  // " a" and the end: 3 rows after 3 tokens.
  attention_.heads = 1;
  attention_.tokens = 3 + 4;
  attention_.positions = 50;
  for (int64_t token = 0; token < attention_.tokens; ++token) {
    for (int64_t position = 0; position < 50; ++position) {
      const int64_t place = token < 3 ? 0 : (token - 3) * 10;
      attention_.weights.push_back(position >= place && position < place + 10 ? 0.1F : 0.0F);
    }
  }
  const Transcription result =
      transcribe(150, [](int64_t window) { return window < 100 ? "<0> a<50><50>" : "<0>  <9>"; });
  ASSERT_FALSE(result.segments.empty());
  ASSERT_EQ(result.segments[0].words.size(), 1U);
  const Word& word = result.segments[0].words[0];
  EXPECT_EQ(word.text, " a");
  EXPECT_EQ(result.segments[0].end, word.end);
  ASSERT_GT(result.segments.size(), 1U);
  EXPECT_EQ(result.segments[1].seek, std::lround(word.end * 100));
  EXPECT_LT(result.segments[1].seek, 100);
}

TEST_F(TranscriberTest, OptionsThatTheModelCannotFollowAreRejected) {
  const auto text = [](int64_t) { return "<0> a<10>"; };
  options_.word_timestamps = true;
  EXPECT_ERROR(transcribe(100, text), ErrorCode::Unsupported, "no times of words");
  options_.word_timestamps = false;
  options_.language = "fr";
  EXPECT_ERROR(transcribe(100, text), ErrorCode::InvalidArgument, "does not have the language fr");
  config_ = R"({"is_multilingual": false})";
  options_.language = "de";
  EXPECT_ERROR(transcribe(100, text), ErrorCode::InvalidArgument,
               "English only: it does not know de");
  options_.language.reset();
  options_.task = Task::Translate;
  EXPECT_ERROR(transcribe(100, text), ErrorCode::InvalidArgument, "does not translate");
  options_.task = Task::Transcribe;
  EXPECT_EQ(transcribe(100, text).language, "en");
  options_.best_of = 0;
  EXPECT_ERROR(transcribe(100, text), ErrorCode::InvalidArgument, "best_of is 0");
  options_.best_of = 1;
  options_.clip_timestamps = {2, 1};
  EXPECT_ERROR(transcribe(100, text), ErrorCode::InvalidArgument, "1 follows 2");
}

TEST_F(TranscriberTest, CanBeCancelled) {
  CancelToken token;
  const CancelScope scope(token);
  events_.segment = [&](const Segment&) { token.request(); };
  EXPECT_ERROR(transcribe(500, [](int64_t) { return "<0> a<10>"; }), ErrorCode::Cancelled,
               "cancelled");
}

}  // namespace
}  // namespace pippin::speech
