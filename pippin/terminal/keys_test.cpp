#include "pippin/terminal/keys.h"

#include <random>

#include <gtest/gtest.h>

namespace pippin::terminal {
namespace {

std::vector<Key> keys_of(std::string_view bytes, size_t piece = 1000) {
  KeyDecoder decoder;
  std::vector<Key> keys;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    decoder.feed(bytes.substr(at, piece));
    while (auto key = decoder.next()) keys.push_back(*key);
  }
  return keys;
}

std::string text_of(const std::vector<Key>& keys) {
  std::string text;
  for (const Key& key : keys) text += key.kind == KeyKind::Enter ? "\n" : key.text;
  return text;
}

TEST(Keys, AreKnown) {
  const struct {
    const char* bytes;
    KeyKind kind;
  } cases[] = {
      {"\r", KeyKind::Enter},
      {"\n", KeyKind::Enter},
      {"\x1B\r", KeyKind::AltEnter},
      {"\x7F", KeyKind::Backspace},
      {"\x1B[A", KeyKind::Up},
      {"\x1BOA", KeyKind::Up},
      {"\x1B[3~", KeyKind::Delete},
      {"\x1B[1;5D", KeyKind::WordLeft},
      {"\x1B\x7F", KeyKind::DeleteWord},
      {"\x1B"
       "f",
       KeyKind::WordRight},
      {"\t", KeyKind::Tab},
      {"\x01", KeyKind::Control},
  };
  for (const auto& [bytes, kind] : cases) {
    for (const size_t piece : {1u, 100u}) {
      const auto keys = keys_of(bytes, piece);
      ASSERT_EQ(keys.size(), 1u);
      EXPECT_EQ(keys[0].kind, kind);
    }
  }
  EXPECT_EQ(keys_of("\x01")[0].letter, 'a');
}

TEST(Keys, UnknownSequencesLeaveNoLetters) {
  EXPECT_EQ(text_of(keys_of("a\x1B[99;7ub\x1B[15~c\x1BOPd\x1B]e")), "abcde");
  EXPECT_EQ(text_of(keys_of("a\x1B[<0;12;3Mb")), "ab");  // a mouse event
}

TEST(Keys, PastedTextIsOneKey) {
  for (const size_t piece : {1u, 2u, 7u, 100u}) {
    const auto keys = keys_of("x\x1B[200~one\r\ntwo\rthree\n\x1B[31mred\x1B[201~y", piece);
    ASSERT_EQ(keys.size(), 3u);
    EXPECT_EQ(keys[1].kind, KeyKind::Paste);
    EXPECT_EQ(keys[1].text, "one\ntwo\nthree\n\x1B[31mred");
    EXPECT_EQ(keys[2].text, "y");
  }
}

TEST(Keys, WhatDoesNotComeIsGivenUp) {
  KeyDecoder decoder;
  EXPECT_LT(decoder.patience(), 0);
  decoder.feed("\x1B");
  EXPECT_FALSE(decoder.next());
  EXPECT_GT(decoder.patience(), 0);
  decoder.give_up();
  EXPECT_FALSE(decoder.next());
  EXPECT_LT(decoder.patience(), 0);
  decoder.feed("\x1B[200~cut");
  EXPECT_FALSE(decoder.next());
  decoder.give_up();
  const auto key = decoder.next();
  ASSERT_TRUE(key);
  EXPECT_EQ(key->text, "cut");
  decoder.feed("\xE6\xBC");  // an incomplete character
  EXPECT_FALSE(decoder.next());
  decoder.give_up();
  EXPECT_EQ(decoder.next()->text, "\xEF\xBF\xBD");
}

// For any division into pieces.
TEST(Keys, TenThousandCharactersComeOnce) {
  std::mt19937 random(7);
  std::string text;
  while (text.size() < 10'000) {
    const char* const pieces[] = {"a", " ", "é", "漢", "👍", "\n", "Z"};
    text += pieces[random() % std::size(pieces)];
  }
  KeyDecoder decoder;
  std::vector<Key> keys;
  for (size_t at = 0; at < text.size();) {
    const size_t size = 1 + random() % 13;
    decoder.feed(std::string_view(text).substr(at, size));
    at += size;
    while (auto key = decoder.next()) keys.push_back(*key);
  }
  EXPECT_EQ(text_of(keys), text);
}

TEST(Keys, AnyBytesEnd) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    KeyDecoder decoder;
    for (int i = 0; i < 50; ++i) {
      const std::string_view likely = "\x1B[O200~;A\r\xE6";
      const char c =
          random() % 2 == 0 ? likely[random() % likely.size()] : static_cast<char>(random());
      decoder.feed({&c, 1});
      while (decoder.next()) continue;
    }
    while (decoder.patience() >= 0) {
      decoder.give_up();
      while (decoder.next()) continue;
    }
  }
}

}  // namespace
}  // namespace pippin::terminal
