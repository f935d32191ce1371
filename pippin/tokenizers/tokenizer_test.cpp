#include "pippin/tokenizers/tokenizer.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/base/threads/cancel.h"

namespace pippin {
namespace {

using JsonTree = nlohmann::json;
using Ids = std::vector<int32_t>;

JsonTree added(int id, const std::string& content, const JsonTree& flags = JsonTree::object()) {
  JsonTree token = {{"id", id},        {"content", content}, {"single_word", false},
                    {"lstrip", false}, {"rstrip", false},    {"normalized", false},
                    {"special", true}};
  token.update(flags);
  return token;
}

// A SentencePiece-like tokenizer: "▁" for spaces, bytes for unknown characters.
JsonTree small() {
  JsonTree vocab = {{"<unk>", 0},    {"<s>", 1},    {"\u2581", 2}, {"a", 3},
                    {"b", 4},        {"ab", 5},     {"c", 6},      {"abc", 7},
                    {"\u2581ab", 8}, {"<0xC3>", 9}, {"<0xA9>", 10}};
  JsonTree json;
  json["version"] = "1.0";
  json["added_tokens"] = {added(0, "<unk>"), added(1, "<s>")};
  json["normalizer"] = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}};
  json["pre_tokenizer"] = nullptr;
  json["post_processor"] = JsonTree::parse(R"({"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
      "pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}})");
  json["decoder"] = JsonTree::parse(R"({"type": "Sequence", "decoders": [
      {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
      {"type": "ByteFallback"}, {"type": "Fuse"},
      {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})");
  json["model"] = {{"type", "BPE"},    {"unk_token", "<unk>"},
                   {"fuse_unk", true}, {"byte_fallback", true},
                   {"vocab", vocab},   {"merges", {"a b", "ab c", "\u2581 ab"}}};
  return json;
}

Tokenizer make(const JsonTree& json) {
  return Tokenizer::from_json(json.dump(), "tiny");
}

Error failure(const std::string& json) {
  try {
    Tokenizer::from_json(json, "tiny");
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorCode::Internal, "no error: " + json);
}

TEST(Tokenizer, EncodesAndDecodes) {
  const auto tokenizer = make(small());
  EXPECT_EQ(tokenizer.encode(" abc"), (Ids{1, 2, 7}));
  EXPECT_EQ(tokenizer.encode(" ab", false), Ids{8});
  EXPECT_EQ(tokenizer.encode("<s>\xC3\xA9xyb", false), (Ids{1, 9, 10, 0, 4}));
  EXPECT_EQ(tokenizer.decode(Ids{1, 8, 9, 10}), "ab\xC3\xA9");
  EXPECT_EQ(tokenizer.decode(Ids{1, 8, 10}, false), "<s> ab\xEF\xBF\xBD");
  EXPECT_EQ(tokenizer.decode(Ids{-1, 3, 99}), "a");
  EXPECT_EQ(tokenizer.vocab_size(), 11);
  EXPECT_EQ(tokenizer.token_to_id("abc"), 7);
  EXPECT_EQ(tokenizer.token_to_id("zzz"), std::nullopt);
  EXPECT_EQ(tokenizer.id_to_token(1), "<s>");
  EXPECT_EQ(tokenizer.id_to_token(11), std::nullopt);
  EXPECT_TRUE(tokenizer.is_special(1));
  EXPECT_FALSE(tokenizer.is_special(3));
}

TEST(Tokenizer, MergesInBothForms) {
  JsonTree json = small();
  json["model"]["merges"] = JsonTree::parse(R"([["a", "b"], ["ab", "c"], ["\u2581", "ab"]])");
  EXPECT_EQ(make(json).encode("abc", false), Ids{7});
}

// Compares with merging pair by pair: merges in the order of their tokens' ids, in any order, and
// with a token listed twice, of which the later id wins.
TEST(Tokenizer, MergesOfVocabulariesInAnyOrder) {
  std::mt19937 random(7);
  for (int round = 0; round < 12; ++round) {
    std::vector<std::string> tokens = {"a", "b", "c"};
    std::vector<std::pair<std::string, std::string>> merges;
    while (merges.size() < 100) {
      const std::string left = tokens[random() % tokens.size()];
      const std::string right = tokens[random() % tokens.size()];
      if (left.size() + right.size() > 6) continue;
      if (std::find(merges.begin(), merges.end(), std::pair(left, right)) != merges.end()) continue;
      merges.emplace_back(left, right);
      const std::string joined = left + right;
      if (std::find(tokens.begin(), tokens.end(), joined) == tokens.end()) tokens.push_back(joined);
    }
    if (round % 3 == 1) std::shuffle(tokens.begin(), tokens.end(), random);
    if (round % 3 == 2) tokens.push_back(tokens[random() % tokens.size()]);
    std::map<std::string, int32_t> ids;
    std::string vocab, list;
    for (size_t i = 0; i < tokens.size(); ++i) {
      ids[tokens[i]] = static_cast<int32_t>(i);
      vocab += fmt::format(R"({}"{}":{})", i == 0 ? "" : ",", tokens[i], i);
    }
    for (const auto& [left, right] : merges) {
      list += fmt::format(R"({}"{} {}")", list.empty() ? "" : ",", left, right);
    }
    const Tokenizer tokenizer = Tokenizer::from_json(
        fmt::format(R"({{"model":{{"type":"BPE","vocab":{{{}}},"merges":[{}]}}}})", vocab, list),
        "random");
    for (int word = 0; word < 50; ++word) {
      std::vector<std::string> parts(1 + random() % 20);
      std::string text;
      for (std::string& part : parts) text += part = std::string(1, "abc"[random() % 3]);
      for (const auto* best = &merges[0]; best != nullptr;) {
        best = nullptr;
        size_t at = 0;
        for (size_t i = 0; i + 1 < parts.size(); ++i) {
          const auto found =
              std::find(merges.begin(), merges.end(), std::pair(parts[i], parts[i + 1]));
          if (found == merges.end() || (best != nullptr && &*found >= best)) continue;
          best = &*found;
          at = i;
        }
        if (best == nullptr) break;
        parts[at] += parts[at + 1];
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
      }
      Ids expected;
      for (const std::string& part : parts) expected.push_back(ids.at(part));
      EXPECT_EQ(tokenizer.encode(text), expected) << text << ", round " << round;
    }
  }
}

TEST(Tokenizer, BrokenTextIsRepaired) {
  const auto tokenizer = make(small());
  EXPECT_EQ(tokenizer.encode("a\xFF", false), tokenizer.encode("a\xEF\xBF\xBD", false));
  EXPECT_EQ(tokenizer.encode("", false), Ids{});
}

TEST(Tokenizer, AddedTokenFlags) {
  JsonTree json = small();
  json["added_tokens"].push_back(added(11, "<x>", {{"lstrip", true}, {"rstrip", true}}));
  json["added_tokens"].push_back(added(12, "cc", {{"single_word", true}, {"special", false}}));
  const auto tokenizer = make(json);
  EXPECT_EQ(tokenizer.encode("a  <x>  b", false), (Ids{3, 11, 4}));
  EXPECT_EQ(tokenizer.encode("cc acc", false), (Ids{12, 2, 3, 6, 6}));
  EXPECT_EQ(tokenizer.decode(Ids{12, 11}), "cc");
  EXPECT_FALSE(tokenizer.is_special(12));
}

TEST(Tokenizer, StreamsWholeCharacters) {
  const auto tokenizer = make(small());
  StreamDecoder stream(tokenizer);
  EXPECT_EQ(stream.push(8), "ab");
  EXPECT_EQ(stream.push(9), "");
  EXPECT_EQ(stream.push(10), "");  // a later byte could still invalidate the run
  EXPECT_EQ(stream.push(3),
            "\xC3\xA9"
            "a");
  EXPECT_EQ(stream.push(9), "");
  EXPECT_EQ(stream.finish(), "\xEF\xBF\xBD");
}

TEST(Tokenizer, BytesOfTokens) {
  const Tokenizer tokenizer = make(small());
  for (const auto& [text, bytes] : {std::pair("\u2581ab", " ab"), std::pair("ab", "ab"),
                                    std::pair("<0xC3>", "\xC3"), std::pair("<s>", "<s>")}) {
    const auto id = tokenizer.token_to_id(text);
    ASSERT_TRUE(id) << text;
    EXPECT_EQ(tokenizer.token_bytes(*id), bytes);
  }
  EXPECT_EQ(tokenizer.token_bytes(1'000'000), "");
}

TEST(Tokenizer, LongWordsAreNotQuadratic) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "ab"[i % 2];
  EXPECT_EQ(make(small()).encode(text, false).size(), 100'000u);
}

TEST(Tokenizer, ManyThreads) {
  const auto tokenizer = make(small());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 100; ++k) EXPECT_EQ(tokenizer.encode(" abc"), (Ids{1, 2, 7}));
    });
  }
  for (auto& thread : threads) thread.join();
}

// Expects long work to stop when it is cancelled. On a busy machine the request may come too late,
// so it is tried several times.
void expect_cancelled(const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  work();
  const auto alone = Clock::now() - begin;
  std::optional<ErrorCode> code;
  for (int attempt = 0; attempt < 10 && !code; ++attempt) {
    CancelToken token;
    const CancelScope scope(token);
    std::thread canceller([&] {
      std::this_thread::sleep_for(alone / 20);
      token.request();
    });
    try {
      work();
    } catch (const Error& error) {
      code = error.code();
    }
    canceller.join();
  }
  EXPECT_EQ(code, ErrorCode::Cancelled);
}

TEST(Tokenizer, CancellingEndsALongText) {
  const JsonTree split = {{"type", "Split"},
                          {"pattern", {{"Regex", "a+|b+"}}},
                          {"behavior", "Isolated"},
                          {"invert", false}};
  const JsonTree bpe =
      JsonTree::parse(R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]})");
  const JsonTree unigram =
      JsonTree::parse(R"({"type": "Unigram", "unk_id": 0, "vocab": [["a", 0.0], ["b", -1.0]]})");
  std::string text;
  while (text.size() < 2'000'000) text += "ab";
  for (const JsonTree& file :
       {JsonTree{{"model", bpe}}, JsonTree{{"model", bpe}, {"pre_tokenizer", split}},
        JsonTree{{"model", unigram}}}) {
    const auto tokenizer = Tokenizer::from_json(file.dump(), "long");
    expect_cancelled([&] { tokenizer.encode(text); });
    expect_cancelled([&] { tokenizer.decode(Ids(text.size(), 1)); });
    // Short work finishes before the first check.
    CancelToken token;
    token.request();
    const CancelScope scope(token);
    EXPECT_NO_THROW(tokenizer.encode("ab"));
  }
}

TEST(Tokenizer, UnknownKindsAreNamedWithTheirPlace) {
  JsonTree json = small();
  json["normalizer"] = {{"type", "Sequence"}, {"normalizers", {{{"type", "Nothing"}}}}};
  const Error normalizer = failure(json.dump());
  EXPECT_EQ(normalizer.code(), ErrorCode::Unsupported);
  EXPECT_STREQ(normalizer.what(),
               "tiny: normalizer.normalizers[0]: the normalizer 'Nothing' is not supported");
  json = small();
  json["model"]["type"] = "Bigram";
  EXPECT_STREQ(failure(json.dump()).what(), "tiny: model: the model 'Bigram' is not supported");
  json = small();
  json["model"]["dropout"] = 0.1;
  EXPECT_EQ(failure(json.dump()).code(), ErrorCode::Unsupported);
}

TEST(Tokenizer, BrokenFilesAreRefused) {
  const auto broken = [](const char* pointer, const JsonTree& value) {
    JsonTree json = small();
    json[JsonTree::json_pointer(pointer)] = value;
    const Error error = failure(json.dump());
    EXPECT_EQ(error.code(), ErrorCode::InvalidFile) << pointer << ": " << error.what();
  };
  broken("/model/vocab/a", -1);
  broken("/model/vocab/a", "x");
  broken("/model/vocab/a", 4'000'000'000);
  broken("/model/vocab/a", 1.5);
  broken("/model/vocab", JsonTree::array({"a"}));
  broken("/model/merges", "a b");
  broken("/model/merges/0", "ab");
  broken("/model/merges/0", "a  b");
  broken("/model/merges/0", {"a", "b", "c"});
  broken("/model/merges/0", "a nothing");
  broken("/model/merges/0", 7);
  broken("/model/fuse_unk", "yes");
  broken("/model", JsonTree::array());
  broken("/normalizer", 3);
  broken("/normalizer/pattern", "x");
  broken("/decoder/decoders", JsonTree::object());
  broken("/decoder/decoders/3/content", "ab");
  broken("/decoder/decoders/3/start", -1);
  broken("/added_tokens/0/content", nullptr);
  broken("/added_tokens", 3);
  broken("/post_processor/single/0/SpecialToken/id", "none");
  broken("/post_processor/single/1/Sequence/id", "B");
  broken("/post_processor/special_tokens/<s>/ids/0", -5);
  for (const char* text : {"", "[", "[]", "null", "{\"a\": \"\\ud800\"}", "{} x"}) {
    EXPECT_EQ(failure(text).code(), ErrorCode::InvalidFile) << text;
  }
  EXPECT_EQ(failure(std::string(100'000, '[')).code(), ErrorCode::InvalidFile);
  JsonTree json = small();
  json.erase("model");
  EXPECT_STREQ(failure(json.dump()).what(), "tiny: the key 'model' is missing");
}

}  // namespace
}  // namespace pippin
