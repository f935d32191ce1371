#include <gtest/gtest.h>

#include "pippin/io/json.h"
#include "pippin/speech/writers/formats.h"
#include "pippin/speech/writers/timestamp.h"

namespace pippin::speech {
namespace {

Transcription two_segments() {
  Transcription transcription;
  transcription.language = "de";
  transcription.duration = 3725.5;
  transcription.text = " Hallo Welt. Ja --> nein.";
  Segment first;
  first.start = 0;
  first.end = 2.5;
  first.text = " Hallo Welt.";
  first.tokens = {5, 6};
  first.avg_logprob = -0.25;
  first.compression_ratio = 0.5;
  first.no_speech_prob = 0.125;
  Segment second;
  second.id = 1;
  second.seek = 3000;
  second.start = 3723.04;
  second.end = 3725.5;
  second.text = " Ja --> nein.\t!";
  second.temperature = 0.5;
  second.tokens = {7};
  Segment silent = second;
  silent.id = 2;
  silent.text.clear();
  silent.tokens.clear();
  transcription.segments = {first, second, silent};
  return transcription;
}

Transcription with_words() {
  Transcription transcription = two_segments();
  transcription.segments.pop_back();
  transcription.segments[0].words = {{" Hallo", 0.1, 0.5, 0.9}, {" Welt.", 0.7, 2.5, 0.8}};
  transcription.segments[1].words = {{" Ja", 3723.04, 3724, 0.7}, {" nein.", 3724, 3725.5, 0.6}};
  return transcription;
}

TEST(Writers, Times) {
  EXPECT_EQ(format_time(62.345, false, '.'), "01:02.345");
  EXPECT_EQ(format_time(62.345, true, ','), "00:01:02,345");
  EXPECT_EQ(format_time(3599.9996, false, '.'), "01:00:00.000");
  EXPECT_EQ(format_lyrics_time(3725.456), "62:05.46");
}

TEST(Writers, Text) {
  EXPECT_EQ(write_text(two_segments()), "Hallo Welt.\nJa --> nein.\t!\n");
}

TEST(Writers, Srt) {
  EXPECT_EQ(write_srt(two_segments()),
            "1\n00:00:00,000 --> 00:00:02,500\nHallo Welt.\n\n"
            "2\n01:02:03,040 --> 01:02:05,500\nJa -> nein.\t!\n\n");
}

TEST(Writers, Vtt) {
  EXPECT_EQ(write_vtt(two_segments()),
            "WEBVTT\n\n00:00.000 --> 00:02.500\nHallo Welt.\n\n"
            "01:02:03.040 --> 01:02:05.500\nJa -> nein.\t!\n\n");
  EXPECT_EQ(write_vtt({}), "WEBVTT\n\n");
}

TEST(Writers, Tsv) {
  EXPECT_EQ(write_tsv(two_segments()),
            "start\tend\ttext\n0\t2500\tHallo Welt.\n3723040\t3725500\tJa --> nein. !\n");
}

TEST(Writers, Lrc) {
  EXPECT_EQ(write_lrc(two_segments()), "[00:00.00]Hallo Welt.\n[62:03.04]Ja --> nein.\t!\n");
}

TEST(Writers, Json) {
  Transcription transcription = with_words();
  transcription.segments.pop_back();
  transcription.segments[0].words.pop_back();
  EXPECT_EQ(write_json(transcription), R"({
  "task": "transcribe",
  "language": "german",
  "duration": 3725.5,
  "text": "Hallo Welt. Ja --> nein.",
  "segments": [
    {
      "id": 0,
      "seek": 0,
      "start": 0.0,
      "end": 2.5,
      "text": " Hallo Welt.",
      "tokens": [
        5,
        6
      ],
      "temperature": 0.0,
      "avg_logprob": -0.25,
      "compression_ratio": 0.5,
      "no_speech_prob": 0.125,
      "words": [
        {
          "word": " Hallo",
          "start": 0.1,
          "end": 0.5,
          "probability": 0.9
        }
      ]
    }
  ],
  "words": [
    {
      "word": "Hallo",
      "start": 0.1,
      "end": 0.5
    }
  ]
}
)");
}

TEST(Writers, JsonInOneLine) {
  Transcription transcription = with_words();
  transcription.segments.pop_back();
  transcription.segments[0].words.clear();
  EXPECT_EQ(
      write_json(transcription, {.in_one_line = true}),
      R"({"task":"transcribe","language":"german","duration":3725.5,)"
      R"("text":"Hallo Welt. Ja --> nein.","segments":[{"id":0,"seek":0,"start":0.0,"end":2.5,)"
      R"("text":" Hallo Welt.","tokens":[5,6],"temperature":0.0,"avg_logprob":-0.25,)"
      R"("compression_ratio":0.5,"no_speech_prob":0.125}]})"
      "\n");
}

TEST(Writers, JsonHasListsOfWordsIfWanted) {
  const JsonOptions words{.with_segments = false, .with_words = true, .in_one_line = true};
  EXPECT_EQ(write_json({}, words),
            R"({"task":"transcribe","language":"","duration":0.0,"text":"","words":[]})"
            "\n");
  Transcription transcription = two_segments();
  const Json json = Json::parse(write_json(transcription, {.with_words = true}), "json");
  EXPECT_EQ(json.at("words").size(), 0U);
  for (const Json& segment : json.at("segments").elements()) {
    EXPECT_EQ(segment.at("words").size(), 0U);
  }
  EXPECT_FALSE(Json::parse(write_json(transcription), "json").find("words"));
}

TEST(Writers, SubtitlesOfWordsKeepSegments) {
  EXPECT_EQ(write_srt(with_words()),
            "1\n00:00:00,100 --> 00:00:02,500\nHallo Welt.\n\n"
            "2\n01:02:03,040 --> 01:02:05,500\nJa nein.\n\n");
}

TEST(Writers, SubtitlesOfFewWords) {
  SubtitleOptions options;
  options.max_words_per_line = 1;
  EXPECT_EQ(write_vtt(with_words(), options),
            "WEBVTT\n\n00:00.100 --> 00:00.500\nHallo\n\n00:00.700 --> 00:02.500\nWelt.\n\n"
            "01:02:03.040 --> 01:02:04.000\nJa\n\n01:02:04.000 --> 01:02:05.500\nnein.\n\n");
}

TEST(Writers, SubtitlesOfShortLines) {
  SubtitleOptions options;
  options.max_line_width = 8;
  EXPECT_EQ(write_vtt(with_words(), options),
            "WEBVTT\n\n00:00.100 --> 00:02.500\nHallo\nWelt.\n\n"
            "01:02:03.040 --> 01:02:05.500\nJa nein.\n\n");
  options.max_line_count = 1;  // joins segments, except over the pause
  EXPECT_EQ(write_vtt(with_words(), options),
            "WEBVTT\n\n00:00.100 --> 00:00.500\nHallo\n\n00:00.700 --> 00:02.500\nWelt.\n\n"
            "01:02:03.040 --> 01:02:05.500\nJa nein.\n\n");
}

TEST(Writers, HighlightedWords) {
  Transcription transcription = with_words();
  transcription.segments.pop_back();
  SubtitleOptions options;
  options.highlight_words = true;
  EXPECT_EQ(write_srt(transcription, options),
            "1\n00:00:00,100 --> 00:00:00,500\n<u>Hallo</u> Welt.\n\n"
            "2\n00:00:00,500 --> 00:00:00,700\nHallo Welt.\n\n"
            "3\n00:00:00,700 --> 00:00:02,500\nHallo <u>Welt.</u>\n\n");
}

TEST(Writers, FormatsHaveNames) {
  for (const FormatName& format : all_formats()) {
    EXPECT_EQ(format_name(format.format), format.name);
    EXPECT_FALSE(write_transcription(two_segments(), format.format).empty());
  }
  EXPECT_EQ(write_transcription(two_segments(), Format::Lrc), write_lrc(two_segments()));
}

}  // namespace
}  // namespace pippin::speech
