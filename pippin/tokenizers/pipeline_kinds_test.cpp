// Tests kinds of stages that the tokenizers with vectors do not use. Expected results were derived
// by hand from the library's rules and checked with the library.
#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin {
namespace {

using JsonTree = nlohmann::json;
using Ids = std::vector<int32_t>;

Tokenizer make(const JsonTree& json) {
  return Tokenizer::from_json(json.dump(), "tiny");
}

// Words have ids from 1, unknown words 0.
JsonTree words(const std::vector<std::string>& list, const JsonTree& pre_tokenizer) {
  JsonTree vocab = {{"[UNK]", 0}};
  for (size_t i = 0; i < list.size(); ++i) vocab[list[i]] = i + 1;
  return {{"model", {{"type", "WordLevel"}, {"vocab", vocab}, {"unk_token", "[UNK]"}}},
          {"pre_tokenizer", pre_tokenizer}};
}

// Returns the normalized text, read back through a model of bytes.
std::string normalized(const JsonTree& normalizer, const std::string& text) {
  JsonTree vocab = JsonTree::object();
  for (int b = 0; b < 256; ++b) vocab[fmt::format("<0x{:02X}>", b)] = b;
  const auto tokenizer = make({{"normalizer", normalizer},
                               {"model",
                                {{"type", "BPE"},
                                 {"byte_fallback", true},
                                 {"vocab", vocab},
                                 {"merges", JsonTree::array()}}}});
  std::string out;
  for (const int32_t id : tokenizer.encode(text)) out += static_cast<char>(id);
  return out;
}

JsonTree bert(bool clean, bool chinese, const JsonTree& accents, bool lowercase) {
  return {{"type", "BertNormalizer"},
          {"clean_text", clean},
          {"handle_chinese_chars", chinese},
          {"strip_accents", accents},
          {"lowercase", lowercase}};
}

TEST(Normalizers, Bert) {
  EXPECT_EQ(normalized(bert(true, false, false, false),
                       "a\tb\x01\u200B\uFFFD\u00A0"
                       "c"),
            "a b c");
  EXPECT_EQ(normalized(bert(false, true, false, false), "a\u4E2Db"), "a \u4E2D b");
  EXPECT_EQ(normalized(bert(false, false, nullptr, true), "\u00C9A"), "ea");
  EXPECT_EQ(normalized(bert(false, false, nullptr, false), "\u00C9A"), "\u00C9A");
  EXPECT_EQ(normalized(bert(false, false, true, false), "\u00C9A"), "EA");
}

TEST(Normalizers, NmtAndStripAccents) {
  EXPECT_EQ(normalized({{"type", "Nmt"}}, "a\x01\u200Bb\uFEFF\x7F\n"), "a b  ");
  EXPECT_EQ(normalized({{"type", "StripAccents"}}, "e\u0301\u00E9"), "e\u00E9");
}

// Builds a trie in which 'a' leads to a leaf whose value is an offset in the texts.
std::string charsmap(uint32_t root, uint32_t at_a, uint32_t leaf, const std::string& texts) {
  std::vector<uint32_t> units(128, 0);
  units[0] = root;
  units['a'] = at_a;
  units['a' ^ 1] = leaf;
  std::string blob(4, '\0');
  blob[1] = 2;  // 512 bytes
  for (const uint32_t unit : units) {
    for (int i = 0; i < 4; ++i) blob += static_cast<char>(unit >> (8 * i));
  }
  blob += texts;
  const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  while (blob.size() % 3 != 0) blob += '\0';
  std::string out;
  for (size_t i = 0; i < blob.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) bits = bits << 8 | static_cast<unsigned char>(blob[i + k]);
    for (int k = 18; k >= 0; k -= 6) out += digits[bits >> k & 63];
  }
  return out;
}

TEST(Normalizers, PrecompiledAndItsHostileFiles) {
  const auto result = [](const std::string& map) {
    return normalized({{"type", "Precompiled"}, {"precompiled_charsmap", map}}, "xay");
  };
  constexpr uint32_t kLeads = 'a' | 1u << 8 | 1u << 10;  // label, leaf, offset 1
  EXPECT_EQ(result(charsmap(0, kLeads, 0x80000003u, std::string("no\0yes\0", 7))), "xyesy");
  EXPECT_EQ(result(charsmap(0, kLeads, 0x80000002u, std::string("no\0yes\0", 7))), "xy");
  // Outside the texts, in the middle of a character, outside the trie, back to the start.
  EXPECT_EQ(result(charsmap(0, kLeads, 0xFFFFFFFFu, "no")), "xay");
  EXPECT_EQ(result(charsmap(0, kLeads, 0x80000001u, "\u00E9")), "xay");
  EXPECT_EQ(result(charsmap(0xFFFFFC00u, kLeads, 0, "no")), "xay");
  EXPECT_EQ(result(charsmap(0, 'a' | 1u << 8 | 0x3FFFFFu << 10, 0, "no")), "xay");
  EXPECT_EQ(result(charsmap(0, 'a' | uint32_t{'a'} << 10, 0, "no")), "xay");
  EXPECT_ERROR(result("AAAA"), ErrorCode::InvalidFile,
               "normalizer: a charsmap of 3 bytes with a trie of 0");
  EXPECT_ERROR(result("/////w=="), ErrorCode::InvalidFile,
               "a charsmap of 4 bytes with a trie of 4294967295");
  EXPECT_ERROR(result("not base64"), ErrorCode::InvalidFile,
               "precompiled_charsmap: this is not base64");
}

TEST(Models, WordPieceTakesTheLongestPart) {
  const JsonTree vocab = {{"[UNK]", 0}, {"a", 1}, {"ab", 2}, {"##a", 3}, {"##ab", 4}, {"##b", 5}};
  const auto tokenizer =
      make({{"model",
             {{"type", "WordPiece"},
              {"unk_token", "[UNK]"},
              {"continuing_subword_prefix", "##"},
              {"max_input_chars_per_word", 6},
              {"vocab", vocab}}},
            {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
            {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}}});
  EXPECT_EQ(tokenizer.encode("abab aab ac abababab"), (Ids{2, 4, 1, 4, 0, 0}));
  EXPECT_EQ(tokenizer.decode(Ids{3, 4, 2, 5}), "##aab abb");
}

TEST(Models, WordLevelNeedsItsUnknownOnlyWhenItIsUsed) {
  JsonTree json = words({"a"}, {{"type", "WhitespaceSplit"}});
  EXPECT_EQ(make(json).encode("a b"), (Ids{1, 0}));
  json["model"]["unk_token"] = "gone";
  EXPECT_EQ(make(json).encode("a a"), (Ids{1, 1}));
  EXPECT_ERROR(make(json).encode("b"), ErrorCode::InvalidFile,
               "unk_token 'gone' is not in its vocabulary");
}

JsonTree unigram(bool byte_fallback) {
  JsonTree vocab =
      JsonTree::array({{"<unk>", 0}, {"a", -1}, {"b", -2}, {"ab", -2.5}, {"<0x63>", -9}});
  return {
      {"model",
       {{"type", "Unigram"}, {"unk_id", 0}, {"byte_fallback", byte_fallback}, {"vocab", vocab}}}};
}

TEST(Models, UnigramFusesTheUnknown) {
  // "ab" (-2.5) beats "a" and "b" (-3).
  EXPECT_EQ(make(unigram(false)).encode("abaccb"), (Ids{3, 1, 0, 2}));
  EXPECT_EQ(make(unigram(true)).encode("accb"), (Ids{1, 4, 4, 2}));
  EXPECT_EQ(make(unigram(true)).encode("acdb"), (Ids{1, 0, 2}));  // all bytes or none
  JsonTree json = unigram(false);
  json["model"]["unk_id"] = nullptr;
  EXPECT_EQ(make(json).encode("ab"), Ids{3});
  EXPECT_ERROR(make(json).encode("c"), ErrorCode::InvalidFile,
               "an unknown character and the tokenizer no unk_id");
}

TEST(Models, BrokenUnigramFilesAreRefused) {
  const auto broken = [](const char* pointer, const JsonTree& value, const char* part,
                         ErrorCode code = ErrorCode::InvalidFile) {
    JsonTree json = unigram(false);
    json[JsonTree::json_pointer(pointer)] = value;
    SCOPED_TRACE(pointer);
    EXPECT_ERROR(make(json), code, part);
  };
  const char* integer = "model.unk_id: an integer from 0 to 4 is needed here";
  const char* entry = " is not a token and its score";
  broken("/model/unk_id", 5, integer);
  broken("/model/unk_id", -1, integer);
  broken("/model/vocab/1", "a", entry);
  broken("/model/vocab/1", {"a"}, entry);
  broken("/model/vocab/1", {"a", -1, 2}, entry);
  broken("/model/vocab/1", {-1, "a"}, entry);
  broken("/model/vocab/1", {"a", "b"}, entry);
  broken("/model/vocab/1", {"a", nullptr}, entry);
  broken("/model/vocab/1/0", std::string(20'000, 'a'), "a token of more than 2048 bytes",
         ErrorCode::LimitExceeded);
  broken("/model/vocab", {{"a", 1}}, "the key 'vocab' is missing or not an array");
  EXPECT_ERROR(
      Tokenizer::from_json(R"({"model": {"type": "Unigram", "vocab": [["a", 1e999]]}})", "t"),
      ErrorCode::InvalidFile, "number overflow parsing '1e999'");
}

TEST(PreTokenizers, Cuts) {
  EXPECT_EQ(make(words({"abc", "de"}, {{"type", "FixedLength"}, {"length", 3}})).encode("abcde"),
            (Ids{1, 2}));
  EXPECT_EQ(make(words({"don", "'", "t"}, {{"type", "BertPreTokenizer"}})).encode(" don't  "),
            (Ids{1, 2, 3}));
  // Latin, then Han with kana and the spaces after it; the space before the first run is dropped.
  EXPECT_EQ(make(words({"ab ", "\u4E2D\u304B\u30AB "}, {{"type", "UnicodeScripts"}}))
                .encode(" ab \u4E2D\u304B\u30AB a"),
            (Ids{1, 2, 0}));
  EXPECT_ERROR(make(words({}, {{"type", "FixedLength"}, {"length", 0}})), ErrorCode::InvalidFile,
               "pre_tokenizer.length: an integer from 1");
}

TEST(Decoders, OfWords) {
  JsonTree json = words({"a</w>", "b", "|", "<pad>"}, nullptr);
  json["decoder"] = {{"type", "BPEDecoder"}, {"suffix", "</w>"}};
  EXPECT_EQ(make(json).decode(Ids{1, 2, 1}), "a ba");
  json["decoder"] = {
      {"type", "CTC"}, {"pad_token", "<pad>"}, {"word_delimiter_token", "|"}, {"cleanup", true}};
  EXPECT_EQ(make(json).decode(Ids{2, 2, 4, 2, 3, 3, 2}), "bb b");
}

TEST(Fitting, CutsAndFills) {
  JsonTree json = words({"a", "b", "c"}, {{"type", "FixedLength"}, {"length", 1}});
  json["post_processor"] = {{"type", "BertProcessing"}, {"cls", {"x", 8}}, {"sep", {"y", 9}}};
  json["truncation"] = {
      {"direction", "Right"}, {"max_length", 4}, {"strategy", "LongestFirst"}, {"stride", 0}};
  json["padding"] = {{"strategy", {{"Fixed", 6}}}, {"direction", "Left"}, {"pad_id", 7}};
  EXPECT_EQ(make(json).encode("abc"), (Ids{8, 1, 2, 3, 9}));
  EXPECT_EQ(make(json).encode_fitted("abc"), (Ids{7, 7, 8, 1, 2, 9}));
  EXPECT_EQ(make(json).encode_fitted("abc", false), (Ids{7, 7, 7, 1, 2, 3}));
  json["truncation"]["direction"] = "Left";
  json["padding"] = {{"strategy", "BatchLongest"},
                     {"direction", "Right"},
                     {"pad_id", 7},
                     {"pad_to_multiple_of", 5}};
  EXPECT_EQ(make(json).encode_fitted("abc"), (Ids{8, 2, 3, 9, 7}));
  json["truncation"]["max_length"] = 1;
  EXPECT_ERROR(make(json).encode_fitted("abc"), ErrorCode::InvalidArgument,
               "truncation to 1 ids has no room for 2 special tokens");
  json["padding"]["pad_to_multiple_of"] = int64_t{1} << 40;
  EXPECT_ERROR(make(json).encode_fitted("a", false), ErrorCode::LimitExceeded,
               "padding to 1 ids (a multiple of 1099511627776)");
}

// Pairs of texts for cross-encoders: the tokens around them, and their types.
TEST(Pairs, EveryProcessor) {
  const auto made = [](const std::string& processor) {
    return Tokenizer::from_json(
        R"({"version": "1.0", "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": )" +
            processor +
            R"(, "model": {"type": "WordLevel", "unk_token": "a",
                "vocab": {"a": 0, "b": 1, "c": 2, "d": 3, "e": 4, "<": 5, ">": 6}}})",
        "pairs");
  };
  const auto check = [](const Tokenizer& tokenizer, const Ids& ids, const Ids& types) {
    const auto texts = tokenizer.encode_texts("a b", "c", 100);
    EXPECT_EQ(texts.ids, ids);
    EXPECT_EQ(texts.types, types);
    EXPECT_EQ(texts.cut, 0u);
  };
  check(made(R"({"type": "BertProcessing", "cls": ["<", 5], "sep": [">", 6]})"), {5, 0, 1, 6, 2, 6},
        {0, 0, 0, 0, 1, 1});
  check(made(R"({"type": "RobertaProcessing", "cls": ["<", 5], "sep": [">", 6],
                 "trim_offsets": true, "add_prefix_space": false})"),
        {5, 0, 1, 6, 6, 2, 6}, {0, 0, 0, 0, 0, 0, 0});
  check(made("null"), {0, 1, 2}, {0, 0, 1});
  const std::string templated = R"({"type": "TemplateProcessing",
      "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": ">", "type_id": 0}}],
      "pair": [{"Sequence": {"id": "B", "type_id": 2}}, {"SpecialToken": {"id": "<", "type_id": 1}},
               {"Sequence": {"id": "A", "type_id": 0}}],
      "special_tokens": {"<": {"id": "<", "ids": [5, 5], "tokens": ["<", "<"]},
                         ">": {"id": ">", "ids": [6], "tokens": [">"]}}})";
  check(made(templated), {2, 5, 5, 0, 1}, {2, 1, 1, 0, 0});
  check(
      made(R"({"type": "Sequence", "processors": [)" + templated + R"(, {"type": "ByteLevel"}]})"),
      {2, 5, 5, 0, 1}, {2, 1, 1, 0, 0});
  EXPECT_EQ(made(templated).encode_texts("a b", std::nullopt, 100).ids, (Ids{0, 1, 6}));
}

TEST(Pairs, TheLongerTextIsCutFirst) {
  const Tokenizer tokenizer = Tokenizer::from_json(
      R"({"version": "1.0", "pre_tokenizer": {"type": "WhitespaceSplit"},
          "post_processor": {"type": "BertProcessing", "cls": ["<", 2], "sep": [">", 3]},
          "model": {"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0, "b": 1, "<": 2, ">": 3}}})",
      "pairs");
  const auto words = [](const char* word, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += std::string(word) + " ";
    return text;
  };
  for (int first = 0; first < 9; ++first) {
    for (int second = 0; second < 9; ++second) {
      for (int room = 1; room < 20; ++room) {
        const auto texts = tokenizer.encode_texts(words("a", first), words("b", second),
                                                  static_cast<size_t>(room + 3));
        const auto a = std::count(texts.ids.begin(), texts.ids.end(), 0);
        const auto b = std::count(texts.ids.begin(), texts.ids.end(), 1);
        EXPECT_EQ(a + b, std::min(first + second, room));
        EXPECT_EQ(texts.cut, static_cast<size_t>(first + second - a - b));
        // The text that was cut is not shorter than the other by more than one id.
        EXPECT_TRUE(a == first || a + 1 >= b);
        EXPECT_TRUE(b == second || b + 1 >= a);
      }
    }
  }
  EXPECT_ERROR(tokenizer.encode_texts("a", "b", 3), ErrorCode::InvalidArgument, "no room");
  EXPECT_EQ(tokenizer.encode_texts(words("a", 9), std::nullopt, 4).ids, (Ids{2, 0, 0, 3}));
}

}  // namespace
}  // namespace pippin
