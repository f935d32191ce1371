// The other files of the field, made from known tokenizers: they have to give the same ids.
#include <bit>
#include <string>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/output.h"
#include "pippin/base/testing.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin {
namespace {

using Ids = std::vector<int32_t>;

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out += static_cast<char>(value);
}
std::string number(uint32_t field, uint64_t value) {
  return varint(field << 3) + varint(value);
}
std::string bytes(uint32_t field, const std::string& content) {
  return varint(field << 3 | 2) + varint(content.size()) + content;
}
std::string piece(const std::string& text, float score, int type = 1) {
  const auto bits = std::bit_cast<uint32_t>(score);
  std::string score_bytes = varint(2 << 3 | 5);
  for (int i = 0; i < 4; ++i) score_bytes += static_cast<char>(bits >> (8 * i));
  return bytes(1, bytes(1, text) + score_bytes + number(3, static_cast<uint64_t>(type)));
}
std::string model(const std::string& pieces, int type, bool extra_whitespace) {
  return piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3) + pieces +
         bytes(2, number(3, static_cast<uint64_t>(type)) + number(35, 1)) +
         bytes(3, number(3, 1) + number(4, extra_whitespace ? 1 : 0));
}
// 3 "a", 4 "b", 5 "ab", 6 the mark of a space, 7 and 8 bytes, 9 the mark and "a", 10 user-defined.
std::string sample(int type, bool extra_whitespace = false) {
  return model(piece("a", -1) + piece("b", -2) + piece("ab", -2.5F) + piece("\u2581", -3) +
                   piece("<0xC3>", 0, 6) + piece("<0xA9>", 0, 6) +
                   piece("\u2581"
                         "a",
                         -2) +
                   piece("<x>", 0, 4),
               type, extra_whitespace);
}

Tokenizer opened(const TempDir& folder, const char* name, const std::string& content) {
  write_file(folder / name, content);
  return Tokenizer::open(folder / name);
}

TEST(TokenizerFiles, SentencePieceBpeMergesTheBestScoreFirst) {
  const TempDir folder;
  const auto tokenizer = opened(folder, "tokenizer.model", sample(2));
  // The mark and "a" (-2) before "ab" (-2.5); <s> begins the text.
  EXPECT_EQ(tokenizer.encode("ab"), (Ids{1, 9, 4}));
  EXPECT_EQ(tokenizer.encode("bab", false), (Ids{6, 4, 5}));
  EXPECT_EQ(tokenizer.encode("\u00E9", false), (Ids{6, 7, 8}));
  EXPECT_EQ(tokenizer.encode("b<x>b", false), (Ids{6, 4, 10, 4}));
  EXPECT_EQ(tokenizer.encode("<0xC3>", false), (Ids{6, 0}));  // spelled out: no byte
  EXPECT_EQ(tokenizer.decode(Ids{1, 9, 4, 7, 8}), "ab\u00E9");
  EXPECT_TRUE(tokenizer.is_special(1));
  EXPECT_FALSE(tokenizer.is_special(10));
}

TEST(TokenizerFiles, SentencePieceUnigramTakesTheBestSum) {
  const TempDir folder;
  const auto tokenizer = opened(folder, "tokenizer.model", sample(1, true));
  // Mark-a, b: -4; mark, ab: -5.5; mark, a, b: -6. </s> ends the text.
  EXPECT_EQ(tokenizer.encode("ab"), (Ids{9, 4, 2}));
  EXPECT_EQ(tokenizer.encode("  bab  ab ", false), (Ids{6, 4, 5, 9, 4}));
  EXPECT_EQ(tokenizer.encode("\u00E9", false), (Ids{6, 7, 8}));
  EXPECT_EQ(tokenizer.encode("", false), Ids{});
}

TEST(TokenizerFiles, SettingsBesideAModelDecideItsSpecialTokens) {
  const TempDir folder;
  write_file(
      folder / "tokenizer_config.json",
      R"({"add_bos_token": false, "add_eos_token": true, "tokenizer_class": "LlamaTokenizer"})");
  write_file(folder / "tokenizer.model", sample(2));
  EXPECT_EQ(Tokenizer::open(folder.path()).encode("a"), (Ids{9, 2}));
}

TEST(TokenizerFiles, ModelsLikeLlamaKeepRunsOfSpaces) {
  const TempDir folder;
  write_file(folder / "tokenizer.model", sample(2, true));
  const auto ids = [&](const char* settings) {
    write_file(folder / "tokenizer_config.json", settings);
    return Tokenizer::open(folder.path()).encode(" b  b", false);
  };
  const Ids kept{6, 6, 4, 6, 6, 4}, removed{6, 4, 6, 4};
  EXPECT_EQ(ids("{}"), kept);
  EXPECT_EQ(ids(R"({"tokenizer_class": "LlamaTokenizerFast"})"), kept);
  EXPECT_EQ(ids(R"({"tokenizer_class": "ReformerTokenizer"})"), removed);
}

TEST(TokenizerFiles, BrokenModelsAreRefused) {
  const TempDir folder;
  const std::string whole = sample(2);
  const auto code = [&](const std::string& content) {
    try {
      opened(folder, "tokenizer.model", content);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::Internal;
  };
  EXPECT_EQ(code(""), ErrorCode::InvalidFile);
  EXPECT_EQ(code(whole.substr(0, whole.size() - 1)), ErrorCode::InvalidFile);
  EXPECT_EQ(code(model(piece("a", std::numeric_limits<float>::quiet_NaN()), 1, false)),
            ErrorCode::InvalidFile);
  EXPECT_EQ(code(model(piece("\xFF", 0), 1, false)), ErrorCode::InvalidFile);
  EXPECT_EQ(code(model(piece("a", 0, 9), 1, false)), ErrorCode::InvalidFile);
  EXPECT_EQ(code(model("", 3, false)), ErrorCode::Unsupported);
  EXPECT_EQ(code(whole + bytes(2, number(41, 1000))), ErrorCode::InvalidFile);
  EXPECT_EQ(code(sample(1) + bytes(3, bytes(2, "\xFF\xFF\xFF\x7F"))), ErrorCode::InvalidFile);
}

TEST(TokenizerFiles, VocabularyAndMergesOfGpt2) {
  const TempDir folder;
  write_file(folder / "vocab.json", R"({"a": 0, "b": 1, "ab": 2, "\u0120": 3, "\u0120ab": 4})");
  write_file(folder / "merges.txt", "#version: 0.2\na b\n\u0120 ab\n");
  write_file(folder / "added_tokens.json", R"({"<x>": 7})");
  const auto tokenizer = Tokenizer::open(folder.path());
  EXPECT_EQ(tokenizer.encode("ab ab<x>"), (Ids{2, 4, 7}));
  EXPECT_EQ(tokenizer.decode(Ids{2, 4, 7}), "ab ab<x>");
  write_file(folder / "merges.txt", "a b c\n");
  EXPECT_THROW(Tokenizer::open(folder.path()), Error);
}

TEST(TokenizerFiles, TiktokenOfAnUnknownEncodingIsRefused) {
  const TempDir folder;
  try {
    opened(folder, "x.tiktoken", "YQ== 0\nYg== 1\n");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  }
  EXPECT_THROW(opened(folder, "x.tiktoken", "YQ== 0\n!! 1\n"), Error);
}

TEST(TokenizerFiles, AFolderWithoutOneIsNamed) {
  const TempDir folder;
  EXPECT_FALSE(Tokenizer::is_tokenizer_folder(folder.path()));
  EXPECT_THROW(Tokenizer::open(folder.path()), Error);
  EXPECT_THROW(Tokenizer::open(folder / "none"), Error);
}

}  // namespace
}  // namespace pippin
