#include "pippin/speech/words.h"

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/speech/scripted_model_testing.h"

namespace pippin::speech {
namespace {

std::string joined(const std::vector<TokenWord>& words) {
  std::string out;
  for (const TokenWord& word : words) out += fmt::format("[{}|{}]", word.text, word.tokens.size());
  return out;
}

std::string split(std::string_view text, std::string_view language) {
  std::vector<int32_t> ids;
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  return joined(split_words(test_tokenizer(50), ids, language));
}

TEST(SplitWords, AtSpacesAndPunctuation) {
  EXPECT_EQ(split(" Hi, you-two", "en"), "[ Hi|3][,|1][ you|4][-two|4]");
  EXPECT_EQ(split("ab  c", "de"), "[ab|2][ |1][ c|2]");
  EXPECT_EQ(split(" \"Ja!\"", "de"), "[ |1][\"Ja|3][!|1][\"|1]");
}

TEST(SplitWords, IntoCharactersForLanguagesWithoutSpaces) {
  EXPECT_EQ(split("你好 a", "zh"), "[你|3][好|3][ |1][a|1]");
  EXPECT_EQ(split("你好 a", "en"), "[你好|6][ a|2]");
}

TEST(SplitWords, BytesThatAreNoCharacterAreReplaced) {
  EXPECT_EQ(split("a\xE4\xBD"
                  "b",
                  "zh"),
            "[a|1][\uFFFD|1][\uFFFD|1][b|1]");
  EXPECT_EQ(split("a\xE4\xBD", "zh"), "[a|1][\uFFFD|1][\uFFFD|1]");
  EXPECT_EQ(split("a\uFFFD", "zh"), "[a|1][\uFFFD|3]");
}

TEST(MergePunctuation, MovesMarksToTheirWords) {
  std::vector<TokenWord> words;
  int32_t id = 0;
  for (const char* text : {" (", "Yes", "!", " no", ",", " -", " \"", "so", ".", "\""}) {
    words.push_back({text, {id++}});
  }
  merge_punctuation(words, "\"'“¿([{-", "\"'.。,，!！?？:：”)]}、");
  EXPECT_EQ(joined(words), "[|0][ (Yes!|3][|0][ no,|2][|0][|0][|0][ - \"so.\"|5][|0][|0]");
  EXPECT_EQ(words[1].tokens, (std::vector<int32_t>{0, 1, 2}));
  std::vector<TokenWord> none;
  merge_punctuation(none, "(", ")");
  EXPECT_TRUE(none.empty());
}

TEST(SplitWords, TokensOfAPublishedTokenizer) {
  PIPPIN_SHARED_OR_SKIP(folder, "tokenizers/whisper-tiny");
  const Tokenizer tokenizer = Tokenizer::open(folder);
  const auto words =
      split_words(tokenizer, tokenizer.encode(" Pneumonia, they said.", false), "en");
  std::string texts;
  for (const TokenWord& word : words) texts += fmt::format("[{}]", word.text);
  EXPECT_EQ(texts, "[ Pneumonia][,][ they][ said][.]");
}

}  // namespace
}  // namespace pippin::speech
