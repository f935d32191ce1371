// Files that demand excessive resources: each is rejected with one line, in time and memory that do
// not depend on the demand.
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "pippin/base/error.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin {
namespace {

using JsonTree = nlohmann::json;
using Ids = std::vector<int32_t>;

JsonTree words() {
  return {{"model", {{"type", "WordLevel"}, {"vocab", {{"?", 0}, {"a", 1}}}, {"unk_token", "?"}}}};
}

JsonTree with(const char* section, const JsonTree& stage) {
  JsonTree json = words();
  json[section] = stage;
  return json;
}

JsonTree sequence(const char* key, const JsonTree& stage, size_t count) {
  return {{"type", "Sequence"}, {key, JsonTree::array_t(count, stage)}};
}

JsonTree replace(const std::string& from, const std::string& to) {
  return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}

template <typename Work>
void expect_refused(Work work) {
  try {
    work();
    ADD_FAILURE() << "nothing was refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::LimitExceeded) << error.what();
  }
}

void expect_encoding_refused(const JsonTree& json, const std::string& text) {
  const auto tokenizer = Tokenizer::from_json(json.dump(), "hostile");
  expect_refused([&] { tokenizer.encode(text); });
}

void expect_file_refused(const JsonTree& json) {
  expect_refused([&] { Tokenizer::from_json(json.dump(), "hostile"); });
}

TEST(Hostile, IdsWithLargeGaps) {
  for (const char* type : {"WordLevel", "WordPiece", "BPE"}) {
    JsonTree json = words();
    json["model"]["type"] = type;
    json["model"]["merges"] = JsonTree::array();
    json["model"]["continuing_subword_prefix"] = "##";
    json["model"]["max_input_chars_per_word"] = 100;
    json["model"]["vocab"]["b"] = 65'000;
    EXPECT_EQ(Tokenizer::from_json(json.dump(), "hostile").vocab_size(), 65'001);
    json["model"]["vocab"]["b"] = 16'000'000;
    expect_file_refused(json);
  }
}

TEST(Hostile, NormalizersThatDoubleTheText) {
  expect_encoding_refused(with("normalizer", sequence("normalizers", replace("a", "aa"), 60)), "a");
  expect_encoding_refused(with("normalizer", replace("a", std::string(10000, 'b'))),
                          std::string(10000, 'a'));
  // Nested, so that no stage alone does much.
  JsonTree nested = replace("a", "aaaa");
  for (int i = 0; i < 20; ++i) {
    nested = {{"type", "Sequence"}, {"normalizers", {replace("a", "aaaa"), nested}}};
  }
  expect_encoding_refused(with("normalizer", nested), "a");
  // Added tokens are normalized when the file is read.
  JsonTree json = with("normalizer", sequence("normalizers", replace("a", "aa"), 60));
  json["added_tokens"] = {{{"id", 2},
                           {"content", "xa"},
                           {"special", false},
                           {"normalized", true},
                           {"single_word", false},
                           {"lstrip", false},
                           {"rstrip", false}}};
  expect_file_refused(json);
  // Useful rules may grow with the text.
  const auto tokenizer = Tokenizer::from_json(with("normalizer", replace(" ", "___")).dump(), "x");
  EXPECT_EQ(tokenizer.encode(std::string(3 << 20, ' ')), (Ids{0}));
}

TEST(Hostile, StagesWithoutNumber) {
  const JsonTree byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  expect_file_refused(with("normalizer", sequence("normalizers", {{"type", "ByteLevel"}}, 40)));
  expect_file_refused(with("pre_tokenizer", sequence("pretokenizers", byte_level, 40)));
  expect_file_refused(with("normalizer", sequence("normalizers", {{"type", "NFC"}}, 1000)));
  expect_file_refused(with("decoder", sequence("decoders", {{"type", "Fuse"}}, 1000)));
}

TEST(Hostile, DecodersThatDoubleTheText) {
  const auto tokenizer = Tokenizer::from_json(
      with("decoder", sequence("decoders", replace("a", "aa"), 60)).dump(), "hostile");
  expect_refused([&] { tokenizer.decode(Ids{1}); });
}

TEST(Hostile, TemplatesThatRepeatTheText) {
  const JsonTree text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const JsonTree twice = {{"type", "TemplateProcessing"},
                          {"single", {text, text}},
                          {"pair", JsonTree::array()},
                          {"special_tokens", JsonTree::object()}};
  expect_encoding_refused(with("post_processor", sequence("processors", twice, 60)), "a");
  const auto tokenizer = Tokenizer::from_json(with("post_processor", twice).dump(), "twice");
  EXPECT_EQ(tokenizer.encode("a"), (Ids{1, 1}));
}

// Each space is a token that strips the spaces before it; they are scanned only once.
TEST(Hostile, TokensThatStripEachOther) {
  JsonTree json = words();
  json["added_tokens"] = {{{"id", 2},
                           {"content", " "},
                           {"special", false},
                           {"normalized", false},
                           {"single_word", false},
                           {"lstrip", true},
                           {"rstrip", false}}};
  const auto tokenizer = Tokenizer::from_json(json.dump(), "spaces");
  EXPECT_EQ(tokenizer.encode(std::string(1 << 20, ' ')), Ids(1 << 20, 2));
}

TEST(Hostile, PatternsThatAreSlowAtEveryPlace) {
  expect_encoding_refused(with("pre_tokenizer", {{"type", "Split"},
                                                 {"pattern", {{"Regex", "a+b|a"}}},
                                                 {"behavior", "Isolated"},
                                                 {"invert", false}}),
                          std::string(200000, 'a'));
}

TEST(Hostile, LongTokensInATree) {
  const std::string longest(100000, 'a');
  const JsonTree vocab =
      JsonTree::array({JsonTree::array({"?", 0.0}), JsonTree::array({longest, -1.0})});
  expect_file_refused({{"model", {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", vocab}}}});
  JsonTree json = words();
  json["added_tokens"] = {{{"id", 2},
                           {"content", longest},
                           {"special", false},
                           {"normalized", false},
                           {"single_word", false},
                           {"lstrip", false},
                           {"rstrip", false}}};
  expect_file_refused(json);
}

// Cyclic merges, a repeated pair, two tokens with one id: all are accepted and harmless.
TEST(Hostile, CirclesAndDoubles) {
  const auto tokenizer = Tokenizer::from_json(
      R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 0, "ba": 1, "aba": 0, "abab": 1},
          "merges": ["a b", "a b", "b a", "ab a", "ab ab"]}})",
      "circle");
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "ab";
  EXPECT_EQ(tokenizer.encode(text).size(), 1u);
}

}  // namespace
}  // namespace pippin
