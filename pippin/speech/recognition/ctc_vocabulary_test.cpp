// Against the facts of transformers' Wav2Vec2CTCTokenizer.
#include "pippin/speech/recognition/ctc_vocabulary.h"

#include <initializer_list>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"

namespace pippin::speech {
namespace {

struct VocabularyFile {
  const char* name;
  const char* content;
};

class CtcVocabularyTest : public testing::Test {
 protected:
  CtcVocabulary read(std::initializer_list<VocabularyFile> files) {
    for (const VocabularyFile& file : files) write_file(folder_ / file.name, file.content);
    return CtcVocabulary::read(folder_.path());
  }
  static std::string text_of(const CtcVocabulary& vocabulary, std::initializer_list<int32_t> ids) {
    std::string text;
    for (const int32_t id : ids) text += vocabulary.text(id);
    return text;
  }

  TempDir folder_;
};

constexpr const char* kLetters =
    R"({"<pad>": 0, "<s>": 1, "</s>": 2, "<unk>": 3, "|": 4, "E": 5, "Ä": 6, "'": 7})";

TEST_F(CtcVocabularyTest, HasTheClassesDefaults) {
  const CtcVocabulary letters = read({{"vocab.json", kLetters}});
  EXPECT_EQ(text_of(letters, {1, 5, 0, 6, 4, 7, 3, 5, 2}), "EÄ 'E");
  EXPECT_EQ(letters.text(8), "");  // names no token
  EXPECT_EQ(letters.text(-1), "");
}

TEST_F(CtcVocabularyTest, LowersCase) {
  EXPECT_EQ(text_of(read({{"vocab.json", kLetters},
                          {"tokenizer_config.json", R"({"do_lower_case": true})"}}),
                    {5, 6, 4, 5}),
            "eä e");
}

TEST_F(CtcVocabularyTest, ReadsTheNamesOfSpecialTokens) {
  const CtcVocabulary named =
      read({{"vocab.json", R"({"[PAD]": 0, "[UNK]": 1, "_": 2, "a": 3, "<s>": 4, "|": 5})"},
            {"tokenizer_config.json",
             R"({"pad_token": {"content": "[PAD]"}, "unk_token": "[UNK]", "bos_token": null,
                 "word_delimiter_token": "_", "replace_word_delimiter_char": "-",
                 "tokenizer_class": "Wav2Vec2CTCTokenizer"})"}});
  EXPECT_EQ(text_of(named, {0, 3, 2, 1, 3, 4, 5}), "a-a<s>|");
}

TEST_F(CtcVocabularyTest, ReadsTheMapOfSpecialTokens) {
  EXPECT_EQ(text_of(read({{"vocab.json", R"({"[PAD]": 0, "a": 1, "<lid>": 2})"},
                          {"special_tokens_map.json",
                           R"({"pad_token": "[PAD]", "additional_special_tokens": ["<lid>"]})"}}),
                    {0, 1, 2, 1}),
            "aa");
}

TEST_F(CtcVocabularyTest, ReadsAddedTokens) {
  const CtcVocabulary added =
      read({{"vocab.json", R"({"a": 0, "|": 1})"},
            {"added_tokens.json", R"({"<s>": 2, "ch": 3})"},
            {"tokenizer_config.json",
             R"({"added_tokens_decoder": {"1": {"content": "|", "special": true},
                                          "4": {"content": "<x>", "special": true},
                                          "5": {"content": "sch", "special": false}}})"}});
  EXPECT_EQ(text_of(added, {0, 1, 2, 3, 4, 5}), "a chsch");
}

TEST_F(CtcVocabularyTest, SelectsALanguage) {
  constexpr const char* kLanguages = R"({"deu": {"|": 0, "ß": 1}, "eng": {"|": 0, "w": 1}})";
  EXPECT_EQ(text_of(read({{"vocab.json", kLanguages},
                          {"tokenizer_config.json", R"({"target_lang": "deu"})"}}),
                    {1, 0, 1}),
            "ß ß");
  EXPECT_ERROR(read({{"tokenizer_config.json", R"({"target_lang": "fra"})"}}),
               ErrorCode::InvalidFile, "no language 'fra'");
  EXPECT_ERROR(read({{"tokenizer_config.json", "{}"}}), ErrorCode::InvalidFile,
               "has 2 languages, and tokenizer_config.json does not say which (target_lang)");
}

TEST_F(CtcVocabularyTest, RefusesOtherFiles) {
  EXPECT_ERROR(read({{"vocab.json", "{}"}}), ErrorCode::InvalidFile, "expected tokens");
  EXPECT_ERROR(read({{"vocab.json", R"({"a": -1})"}}), ErrorCode::InvalidFile, "-1");
  EXPECT_ERROR(read({{"vocab.json", R"({"a": "b"})"}}), ErrorCode::InvalidFile, "a");
  EXPECT_ERROR(read({{"vocab.json", R"({"a": 0)"}}), ErrorCode::InvalidFile, "vocab.json");
  EXPECT_ERROR(
      read({{"vocab.json", R"({"a": 0})"},
            {"tokenizer_config.json", R"({"tokenizer_class": "Wav2Vec2PhonemeCTCTokenizer"})"}}),
      ErrorCode::Unsupported, "'Wav2Vec2PhonemeCTCTokenizer' is not supported");
  EXPECT_ERROR(
      read({{"tokenizer_config.json", R"({"added_tokens_decoder": {"one": {"content": "<x>"}}})"}}),
      ErrorCode::InvalidFile, "'one' is not an id");
}

TEST_F(CtcVocabularyTest, IsNotAPartOfBytePairs) {
  EXPECT_FALSE(CtcVocabulary::is_in(folder_.path()));
  write_file(folder_ / "vocab.json", "{}");
  EXPECT_TRUE(CtcVocabulary::is_in(folder_.path()));
  write_file(folder_ / "merges.txt", "");
  EXPECT_FALSE(CtcVocabulary::is_in(folder_.path()));
}

}  // namespace
}  // namespace pippin::speech
