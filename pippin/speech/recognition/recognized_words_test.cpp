#include "pippin/speech/recognition/recognized_words.h"

#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace pippin::speech {
namespace {

// Tokens with texts; the token's id is its place, its time 0.1 s per place, or as given.
class Spoken {
 public:
  Spoken& add(std::string text, double start = -1, double probability = 0.5) {
    const auto place = static_cast<double>(texts_.size());
    if (start < 0) start = place / 10;
    tokens_.push_back({static_cast<int32_t>(texts_.size()), start, start + 0.1, probability});
    texts_.push_back(std::move(text));
    return *this;
  }
  Spoken& add_letters(std::string_view letters) {
    for (const char letter : letters) add(std::string(1, letter));
    return *this;
  }
  std::vector<RecognizedWord> words(double offset = 0) const {
    return recognized_words(
        tokens_, [&](int32_t id) { return texts_.at(static_cast<size_t>(id)); }, offset);
  }
  // "text start-end/..."
  std::string shown(double offset = 0) const {
    std::string out;
    for (const RecognizedWord& word : words(offset)) {
      out += fmt::format("[{} {:.1f}-{:.1f}]", word.word.text, word.word.start, word.word.end);
    }
    return out;
  }

 private:
  std::vector<RecognizedToken> tokens_;
  std::vector<std::string> texts_;
};

TEST(RecognizedWords, OfLetters) {
  EXPECT_EQ(Spoken().add_letters("it's so").shown(5), "[ it's 5.0-5.4][ so 5.5-5.7]");
  // Spaces have no times.
  EXPECT_EQ(Spoken().add_letters(" a  b ").shown(), "[ a 0.1-0.2][  b 0.4-0.5]");
  EXPECT_EQ(Spoken().add_letters("  ").shown(), "");
  EXPECT_EQ(Spoken().shown(), "");
}

TEST(RecognizedWords, OfPieces) {
  EXPECT_EQ(Spoken().add(" The").add(" fo").add("x").add(",").add(" \"").add("ran").shown(),
            "[ The 0.0-0.1][ fox, 0.1-0.4][ \"ran 0.4-0.6]");
  // Special tokens have no text.
  EXPECT_EQ(Spoken().add("").add("a").add("").add("b").shown(), "[ ab 0.1-0.4]");
}

TEST(RecognizedWords, OfScriptsWithoutSpaces) {
  EXPECT_EQ(Spoken().add("你").add("好").add("。").add("ok").shown(),
            "[你 0.0-0.1][好。ok 0.1-0.4]");
  // A vowel sign above belongs to the letter before it.
  EXPECT_EQ(Spoken().add("ก").add("ิ").add("น").shown(), "[กิ 0.0-0.2][น 0.2-0.3]");
}

TEST(RecognizedWords, OfBytes) {
  EXPECT_EQ(Spoken().add("a").add("\xC3").add("\xA4").shown(), "[ aä 0.0-0.3]");
  EXPECT_EQ(Spoken().add("a").add("\xC3").add(" b").shown(), "[ a\uFFFD 0.0-0.2][ b 0.2-0.3]");
}

TEST(RecognizedWords, HaveTheMeanOfProbabilities) {
  const auto words = Spoken().add("a", 0, 1).add("b", 1, 0.5).add(" ", 2, 0).add("c", 3, 0).words();
  ASSERT_EQ(words.size(), 2U);
  EXPECT_DOUBLE_EQ(words[0].word.probability, 0.75);
  EXPECT_DOUBLE_EQ(words[0].log_probability, std::log(0.5));
  EXPECT_EQ(words[0].tokens, (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(words[1].tokens, (std::vector<int32_t>{2, 3}));
  EXPECT_TRUE(std::isfinite(words[1].log_probability));
}

std::string shown(const std::vector<Segment>& segments) {
  std::string out;
  for (const Segment& segment : segments) {
    out += fmt::format("{}[{} {}-{}]", segment.id, segment.text, segment.start, segment.end);
  }
  return out;
}

TEST(RecognizedSegments, EndAtSentencesAndPauses) {
  const auto words = Spoken()
                         .add(" One")
                         .add(" two.")
                         .add(" \"Three!\"")
                         .add(" 4.5")
                         .add(" five", 1.0)  // after 0.6 s
                         .add(" six", 1.69)  // after 0.59 s
                         .words(1);
  EXPECT_EQ(shown(recognized_segments(words, true, false, 1, 7)),
            "7[ One two. 1-1.2]8[ \"Three!\" 1.2-1.3]9[ 4.5 1.3-1.4]10[ five six 2-2.79]");
  EXPECT_EQ(shown(recognized_segments(words, false, false, 1, 0)),
            "0[ One two. \"Three!\" 4.5 five six 1-2.79]");
  EXPECT_EQ(shown(recognized_segments({}, true, false, 1, 0)), "");
}

TEST(RecognizedSegments, HaveScoresAndWords) {
  const auto words = Spoken().add("a", 0, 0.5).add(" b", 0.1, 0.25).add(" ", 0.2, 1).words(2.5);
  const Segment segment = recognized_segments(words, true, true, 2.5, 0).at(0);
  EXPECT_EQ(segment.seek, 250);
  EXPECT_EQ(segment.tokens, (std::vector<int32_t>{0, 1, 2}));
  EXPECT_DOUBLE_EQ(segment.avg_logprob, std::log(0.125) / 3);
  EXPECT_EQ(segment.temperature, 0);
  EXPECT_TRUE(std::isnan(segment.no_speech_prob));
  ASSERT_EQ(segment.words.size(), 2U);
  EXPECT_EQ(segment.words[1].text, " b");
  EXPECT_DOUBLE_EQ(segment.words[1].start, 2.6);
  EXPECT_DOUBLE_EQ(segment.words[1].probability, 0.625);
}

}  // namespace
}  // namespace pippin::speech
