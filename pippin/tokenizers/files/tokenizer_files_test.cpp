// Other formats, made from known tokenizers, must give the same ids.
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/tokenizers/files/sentencepiece_testing.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin {
namespace {

using Ids = std::vector<int32_t>;
using namespace sentencepiece_testing;  // NOLINT(google-build-using-namespace)

Tokenizer opened(const TempDir& folder, const char* name, const std::string& content) {
  write_file(folder / name, content);
  return Tokenizer::open(folder / name);
}

TEST(TokenizerFiles, SentencePieceBpeMergesTheBestScoreFirst) {
  const TempDir folder;
  const auto tokenizer = opened(folder, "tokenizer.model", sample(2));
  // The space mark and "a" (-2) win over "ab" (-2.5); <s> begins the text.
  EXPECT_EQ(tokenizer.encode("ab"), (Ids{1, 9, 4}));
  EXPECT_EQ(tokenizer.encode("bab", false), (Ids{6, 4, 5}));
  EXPECT_EQ(tokenizer.encode("\u00E9", false), (Ids{6, 7, 8}));
  EXPECT_EQ(tokenizer.encode("b<x>b", false), (Ids{6, 4, 10, 4}));
  EXPECT_EQ(tokenizer.encode("<0xC3>", false), (Ids{6, 0}));  // spelled out, not a byte
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

// Returns a tokenizer.json with a template of these pieces, or without one.
std::string with_template(const std::string& single, const std::string& more = "") {
  const std::string processor = single.empty() ? "null"
                                               : R"({"type": "TemplateProcessing", "single": [)" +
                                                     single + R"(], "pair": [)" + single +
                                                     R"(, {"Sequence": {"id": "B", "type_id": 1}}],
                             "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]},
                                                "[X]": {"id": "[X]", "ids": [5], "tokens": ["[X]"]}}})";
  return R"({"added_tokens": [], "pre_tokenizer": {"type": "WhitespaceSplit"},
             "post_processor": )" +
         processor + more + R"(, "model": {"type": "WordLevel", "unk_token": "<unk>",
             "vocab": {"<unk>": 0, "<s>": 1, "</s>": 2, "a": 3, "b": 4, "[X]": 5}}})";
}
constexpr char kText[] = R"({"Sequence": {"id": "A", "type_id": 0}})";
constexpr char kBos[] = R"({"SpecialToken": {"id": "<s>", "type_id": 0}}, )";

// Expects the behaviour of transformers.
TEST(TokenizerFiles, SettingsDecideTheEndsOfTokenizerJson) {
  const TempDir folder;
  const auto ids = [&](const std::string& json, const std::string& settings) {
    write_file(folder / "tokenizer.json", json);
    write_file(
        folder / "tokenizer_config.json",
        R"({"bos_token": "<s>", "eos_token": {"content": "</s>"}, "x": Infinity)" + settings + "}");
    return Tokenizer::open(folder.path()).encode("a b");
  };
  const std::string begins = with_template(std::string(kBos) + kText);
  EXPECT_EQ(ids(begins, ""), (Ids{1, 3, 4}));
  EXPECT_EQ(ids(begins, R"(, "add_eos_token": true)"), (Ids{1, 3, 4, 2}));
  EXPECT_EQ(ids(begins, R"(, "add_bos_token": false)"), (Ids{3, 4}));
  EXPECT_EQ(ids(begins, R"(, "add_bos_token": false, "add_eos_token": true)"), (Ids{3, 4, 2}));
  EXPECT_EQ(ids(with_template(""), R"(, "add_bos_token": true, "add_eos_token": true)"),
            (Ids{1, 3, 4, 2}));
  EXPECT_EQ(ids(with_template(""), R"(, "add_bos_token": false)"), (Ids{3, 4}));
  // Other special tokens are kept.
  const std::string other =
      with_template(std::string(R"({"SpecialToken": {"id": "[X]", "type_id": 0}}, )") + kText);
  EXPECT_EQ(ids(other, R"(, "add_eos_token": true)"), (Ids{5, 3, 4, 2}));
  EXPECT_ERROR(ids(with_template(""), R"(, "eos_token": "<none>", "add_eos_token": true)"),
               ErrorCode::InvalidFile, "add_eos_token is set, but eos_token is not a token");
  const auto pair = [&](const std::string& settings) {
    ids(begins, settings);
    return Tokenizer::open(folder.path()).encode_texts("a", "b", 100).ids;
  };
  EXPECT_EQ(pair(R"(, "add_eos_token": true)"), (Ids{1, 3, 2, 1, 4, 2}));
}

TEST(TokenizerFiles, AddedTokensBesideTokenizerJsonCount) {
  const TempDir folder;
  write_file(folder / "tokenizer.json", with_template(""));
  write_file(folder / "tokenizer_config.json", R"({"added_tokens_decoder": {
      "6": {"content": "<|x|>", "special": true}, "5": {"content": "[X]", "special": true}}})");
  write_file(folder / "added_tokens.json", R"({"<|y|>": 7})");
  const auto tokenizer = Tokenizer::open(folder.path());
  EXPECT_EQ(tokenizer.encode("a<|x|>b<|y|>"), (Ids{3, 6, 4, 7}));
  EXPECT_TRUE(tokenizer.is_special(6));
  EXPECT_TRUE(tokenizer.is_special(5));
  EXPECT_EQ(tokenizer.vocab_size(), 8);
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
  EXPECT_ERROR(Tokenizer::open(folder.path()), ErrorCode::InvalidFile,
               "line 1 of merges.txt is not two tokens");
}

TEST(TokenizerFiles, TiktokenOfAnUnknownEncodingIsRefused) {
  const TempDir folder;
  EXPECT_ERROR(opened(folder, "x.tiktoken", "YQ== 0\nYg== 1\n"), ErrorCode::Unsupported,
               "x.tiktoken: 2 ranks match no known encoding");
  EXPECT_ERROR(opened(folder, "x.tiktoken", "YQ== 0\n!! 1\n"), ErrorCode::InvalidFile,
               "x.tiktoken: line 2 is not a token in base64 and its rank");
}

TEST(TokenizerFiles, AFolderWithoutOneIsNamed) {
  const TempDir folder;
  EXPECT_FALSE(Tokenizer::is_tokenizer_folder(folder.path()));
  EXPECT_ERROR(Tokenizer::open(folder.path()), ErrorCode::NotFound,
               "no tokenizer here (tokenizer.json");
  EXPECT_ERROR(Tokenizer::open(folder / "none"), ErrorCode::NotFound,
               "none: there is no such tokenizer");
}

}  // namespace
}  // namespace pippin
