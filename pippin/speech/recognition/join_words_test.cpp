#include "pippin/speech/recognition/join_words.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace pippin::speech {
namespace {

using Words = std::vector<RecognizedWord>;

// A word for each letter, half a second each; none for a space.
Words words(std::string_view letters, double start) {
  constexpr double kSeconds = 0.5;
  Words words;
  for (const char letter : letters) {
    if (letter != ' ') words.push_back({{std::string(1, letter), start, start + kSeconds, 1}});
    start += kSeconds;
  }
  return words;
}

std::string text(const Words& words) {
  std::string text;
  for (const RecognizedWord& word : words) text += word.word.text;
  return text;
}

// Of windows [0, 5] and [3, 8].
std::string joined(Words left, Words right) {
  join_words(left, right, {3, 5});
  return text(left) + "|" + text(right);
}

TEST(JoinWords, WhereBothAgree) {
  EXPECT_EQ(joined(words("abcdefghij", 0), words("ghijklmnop", 3)), "abcdefgh|ijklmnop");
  // The windows' ends cut words: x and y are parts of j and g.
  EXPECT_EQ(joined(words("abcdefghix", 0), words("yhijklmnop", 3)), "abcdefgh|ijklmnop");
  // One of them lacks a word.
  EXPECT_EQ(joined(words("abcdefgh x", 0), words("ghijklmnop", 3)), "abcdefgh|ijklmnop");
  EXPECT_EQ(joined(words("abcdefghij", 0), words("g ijklmnop", 3)), "abcdefgh|ijklmnop");
  // Times differ a little.
  EXPECT_EQ(joined(words("abcdefghix", 0), words("hijklmnop", 3.3)), "abcdefgh|ijklmnop");
}

TEST(JoinWords, InTheLongestRun) {
  EXPECT_EQ(joined(words("abcdefghxy", 0), words("ghwxklmnop", 3)), "abcdefgh|wxklmnop");
  EXPECT_EQ(joined(words("abcdefgxij", 0), words("gyijklmnop", 3)), "abcdefgx|ijklmnop");
  // The same word at another time is another word.
  EXPECT_EQ(joined(words("abcdefgxyz", 0), words("uvwgklmnop", 3)), "abcdefgx|wgklmnop");
}

TEST(JoinWords, InTheMiddleIfTheyDisagree) {
  EXPECT_EQ(joined(words("abcdefwxyz", 0), words("qrstklmnop", 3)), "abcdefwx|stklmnop");
  EXPECT_EQ(joined(words("abcdef", 0), words("ghijklmnop", 3)), "abcdef|ghijklmnop");
  EXPECT_EQ(joined(words("abcdefghij", 0), {}), "abcdefghij|");
  EXPECT_EQ(joined({}, words("ghijklmnop", 3)), "|ghijklmnop");
}

}  // namespace
}  // namespace pippin::speech
