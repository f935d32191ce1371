// For tests only: a small tokenizer with Whisper's special tokens. The id of a text token is its
// byte.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/text.h"
#include "pippin/io/json.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::speech {

// Returns the character that stands for a byte in byte-level vocabularies.
inline std::string byte_level_character(int byte) {
  const auto stands_for_itself = [](int b) {
    return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
  };
  int character = byte;
  if (!stands_for_itself(byte)) {
    character = 256;
    for (int b = 0; b < byte; ++b) character += stands_for_itself(b) ? 0 : 1;
  }
  std::string text;
  append_utf8(text, static_cast<char32_t>(character));
  return text;
}

struct TestTokens {
  static constexpr int32_t kEnd = 256, kStart = 257, kEn = 258, kDe = 259, kZh = 260;
  static constexpr int32_t kTranslate = 261, kTranscribe = 262, kLm = 263, kPrevious = 264;
  static constexpr int32_t kNoSpeech = 265, kNoTimestamps = 266, kTime = 267;
};

// Returns the text of its tokenizer.json, for windows of that many positions.
inline std::string test_tokenizer_json(int64_t positions) {
  std::vector<std::string> names = {
      "<|endoftext|>",   "<|startoftranscript|>", "<|en|>",          "<|de|>",
      "<|zh|>",          "<|translate|>",         "<|transcribe|>",  "<|startoflm|>",
      "<|startofprev|>", "<|nospeech|>",          "<|notimestamps|>"};
  for (int64_t i = 0; i <= positions; ++i)
    names.push_back(fmt::format("<|{}.{:02}|>", i / 50, i % 50 * 2));
  JsonWriter json;
  json.begin_object().member("version", "1.0").key("added_tokens").begin_array();
  for (size_t i = 0; i < names.size(); ++i) {
    json.begin_object().member("id", 256 + i).member("content", names[i]);
    json.member("single_word", false).member("lstrip", false).member("rstrip", false);
    json.member("normalized", false).member("special", true).end_object();
  }
  json.end_array();
  const auto byte_level = [&](const char* key) {
    json.key(key).begin_object().member("type", "ByteLevel").member("add_prefix_space", false);
    json.member("trim_offsets", true).member("use_regex", true).end_object();
  };
  byte_level("pre_tokenizer");
  byte_level("decoder");
  json.key("model").begin_object().member("type", "BPE").key("vocab").begin_object();
  for (int byte = 0; byte < 256; ++byte) json.member(byte_level_character(byte), byte);
  json.end_object().key("merges").begin_array().end_array();
  return json.end_object().end_object().text();
}

inline Tokenizer test_tokenizer(int64_t positions) {
  return Tokenizer::from_json(test_tokenizer_json(positions), "tokenizer.json");
}

}  // namespace pippin::speech
