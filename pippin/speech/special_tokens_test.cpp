#include "pippin/speech/special_tokens.h"

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/speech/scripted_model_testing.h"
#include "pippin/speech/suppressed_tokens.h"

namespace pippin::speech {
namespace {

SpecialTokens read(const std::string& config, int64_t vocab_size = kTestVocabulary) {
  return read_special_tokens(test_tokenizer(50), Json::parse(config, "generation_config.json"),
                             vocab_size, 50);
}

TEST(SpecialTokens, AreReadFromTheTokenizer) {
  const SpecialTokens tokens = read(R"({"is_multilingual": true})");
  EXPECT_EQ(tokens.end_of_text, TestTokens::kEnd);
  EXPECT_EQ(tokens.start_of_transcript, TestTokens::kStart);
  EXPECT_EQ(tokens.no_speech, TestTokens::kNoSpeech);
  EXPECT_EQ(tokens.start_of_previous, TestTokens::kPrevious);
  EXPECT_EQ(tokens.timestamp_begin, TestTokens::kTime);
  EXPECT_EQ(tokens.timestamp_end, TestTokens::kTime + 51);
  ASSERT_EQ(tokens.languages.size(), 3U);  // in the order of the models' tokens
  EXPECT_EQ(tokens.language("de"), TestTokens::kDe);
  EXPECT_EQ(tokens.language("fr"), std::nullopt);
}

TEST(SpecialTokens, LanguagesAreThoseOfTheConfiguration) {
  const SpecialTokens tokens = read(R"({"lang_to_id": {"<|de|>": 259}})");
  ASSERT_EQ(tokens.languages.size(), 1U);
  EXPECT_EQ(tokens.languages[0].code, "de");
  EXPECT_ERROR(read(R"({"lang_to_id": {"de": 259}})"), ErrorCode::InvalidFile,
               "lang_to_id: \"de\" is not a language token");
  EXPECT_ERROR(read(R"({"lang_to_id": {"<|de|>": 7}})"), ErrorCode::InvalidFile, "<|de|> has id 7");
}

TEST(SpecialTokens, EnglishOnlyModelsHaveNoLanguages) {
  EXPECT_FALSE(read(R"({"is_multilingual": false, "lang_to_id": {}})").is_multilingual());
  EXPECT_FALSE(read(R"({"forced_decoder_ids": [[1, 266]]})").is_multilingual());
  EXPECT_TRUE(read(R"({"forced_decoder_ids": [[1, null], [2, 262]]})").is_multilingual());
  EXPECT_TRUE(read(R"({"forced_decoder_ids": [[1, 258], [2, 262]]})").is_multilingual());
  EXPECT_FALSE(read("{}").is_multilingual());  // the vocabulary is smaller than Whisper's
}

TEST(SpecialTokens, OtherTokenizersAreRejected) {
  const Tokenizer other = Tokenizer::from_json(
      R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "added_tokens": []})", "t");
  EXPECT_ERROR(read_special_tokens(other, Json::parse("{}", "c"), 10, 5), ErrorCode::InvalidFile,
               "the tokenizer has no token <|endoftext|>");
  EXPECT_ERROR(read("{}", 200), ErrorCode::InvalidFile, "timestamps begin at 267");
}

TEST(SpecialTokens, HaveRowsOfLogits) {
  // The special token is the last one, which the model does not have.
  std::string json = test_tokenizer_json(50);
  json.replace(json.find("<|nospeech|>"), 12, "<|other|>");
  json.replace(json.find("<|1.00|>"), 8, "<|nospeech|>");
  EXPECT_ERROR(read_special_tokens(Tokenizer::from_json(json, "tokenizer.json"),
                                   Json::parse("{}", "config"), kTestVocabulary - 1, 50),
               ErrorCode::InvalidFile, "<|nospeech|> has id 317");
  const Tokenizer tokenizer = test_tokenizer(50);
  EXPECT_ERROR(suppressed_first_tokens(tokenizer, read("{}"), Json::parse("{}", "config"), 20),
               ErrorCode::InvalidFile, "text token 32, the model has 20");
}

TEST(SuppressedTokens, AreTheListsOfTheConfiguration) {
  const Tokenizer tokenizer = test_tokenizer(50);
  const Json config = Json::parse(R"({"is_multilingual": true, "suppress_tokens": [3, 4],
                                      "begin_suppress_tokens": [9]})",
                                  "generation_config.json");
  const SpecialTokens tokens = read(config.dump());
  const std::vector<int32_t> special = {257, 261, 262, 263, 264, 265};
  const auto with_special = [&](std::vector<int32_t> ids) {
    ids.insert(ids.end(), special.begin(), special.end());
    return ids;
  };
  const std::vector<int32_t> model = {-1, 77};
  EXPECT_EQ(suppressed_tokens(model, tokenizer, tokens, config, kTestVocabulary),
            with_special({3, 4, 77}));
  EXPECT_EQ(suppressed_tokens({}, tokenizer, tokens, config, kTestVocabulary), special);
  const std::vector<int32_t> outside = {999};
  EXPECT_ERROR(suppressed_tokens(outside, tokenizer, tokens, config, kTestVocabulary),
               ErrorCode::InvalidArgument, "999 is not a token");
  EXPECT_EQ(suppressed_first_tokens(tokenizer, tokens, config, kTestVocabulary),
            (std::vector<int32_t>{9}));
  const Json none = Json::parse("{}", "generation_config.json");
  EXPECT_EQ(suppressed_first_tokens(tokenizer, tokens, none, kTestVocabulary),
            (std::vector<int32_t>{' ', 256}));
}

// suppress_tokens of the multilingual models' generation_config.json, without special tokens.
TEST(SuppressedTokens, SymbolsAreThoseOfThePublishedModels) {
  PIPPIN_SHARED_OR_SKIP(folder, "tokenizers/whisper-tiny");
  EXPECT_EQ(non_speech_tokens(Tokenizer::open(folder)),
            (std::vector<int32_t>{
                1,     2,     7,     8,     9,     10,    14,    25,    26,    27,    28,    29,
                31,    58,    59,    60,    61,    62,    63,    90,    91,    92,    93,    359,
                503,   522,   542,   873,   893,   902,   918,   922,   931,   1350,  1853,  1982,
                2460,  2627,  3246,  3253,  3268,  3536,  3846,  3961,  4183,  4667,  6585,  6647,
                7273,  9061,  9383,  10428, 10929, 11938, 12033, 12331, 12562, 13793, 14157, 14635,
                15265, 15618, 16553, 16604, 18362, 18956, 20075, 21675, 22520, 26130, 26161, 26435,
                28279, 29464, 31650, 32302, 32470, 36865, 42863, 47425, 49870, 50254}));
}

TEST(SpecialTokens, ReadsAPublishedTokenizer) {
  PIPPIN_SHARED_OR_SKIP(folder, "tokenizers/whisper-tiny");
  const SpecialTokens tokens =
      read_special_tokens(Tokenizer::open(folder), Json::parse("{}", "config"), 51865, 1500);
  EXPECT_EQ(tokens.end_of_text, 50257);
  EXPECT_EQ(tokens.timestamp_begin, 50364);
  EXPECT_EQ(tokens.timestamp_end, 51865);
  EXPECT_EQ(tokens.no_speech, 50362);
  EXPECT_EQ(tokens.languages.size(), 99U);
  EXPECT_EQ(tokens.language("ja"), 50266);
}

}  // namespace
}  // namespace pippin::speech
