#include "pippin/runtime/generation_config.h"

#include <string>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/log.h"
#include "pippin/base/testing.h"

namespace pippin::runtime {
namespace {

using Ids = std::vector<int32_t>;

Tokenizer small_tokenizer() {
  return Tokenizer::from_json(
      R"({"model": {"type": "BPE", "vocab": {"a": 0, "<end>": 1, "<turn>": 2},
    "merges": []}, "added_tokens": [
    {"id": 1, "content": "<end>", "special": true, "single_word": false, "lstrip": false,
     "rstrip": false, "normalized": false}]})",
      "tokenizer.json");
}

TEST(GenerationConfig, NothingIsGreedyWithoutEnd) {
  const TempDir folder;
  const auto config = read_generation_config(folder.path(), small_tokenizer());
  EXPECT_TRUE(config.end_ids.empty());
  EXPECT_EQ(config.sampling.temperature, 0);
}

TEST(GenerationConfig, EndTokensOfAllFilesCountOnce) {
  const TempDir folder;
  write_file(folder / "generation_config.json", R"({"eos_token_id": [7, 8]})");
  write_file(folder / "config.json", R"({"eos_token_id": 8})");
  write_file(folder / "tokenizer_config.json", R"({"eos_token": {"content": "<end>"}})");
  EXPECT_EQ(read_generation_config(folder.path(), small_tokenizer()).end_ids, (Ids{7, 8, 1}));
  write_file(folder / "tokenizer_config.json", R"({"eos_token": "<turn>"})");
  write_file(folder / "generation_config.json", R"({"eos_token_id": null})");
  EXPECT_EQ(read_generation_config(folder.path(), small_tokenizer()).end_ids, (Ids{8, 2}));
}

TEST(GenerationConfig, SamplesWhereTheFileSaysSo) {
  const TempDir folder;
  write_file(folder / "generation_config.json",
             R"({"do_sample": true, "temperature": 0.6, "top_p": 0.9})");
  auto sampling = read_generation_config(folder.path(), small_tokenizer()).sampling;
  EXPECT_EQ(sampling.temperature, 0.6);
  EXPECT_EQ(sampling.top_p, 0.9);
  EXPECT_EQ(sampling.top_k, 50);
  write_file(folder / "generation_config.json",
             R"({"do_sample": false, "temperature": 0.6, "repetition_penalty": 1.1})");
  sampling = read_generation_config(folder.path(), small_tokenizer()).sampling;
  EXPECT_EQ(sampling.temperature, 0);
  EXPECT_EQ(sampling.repetition_penalty, 1.1);
}

TEST(GenerationConfig, ReadsWhatItRulesOut) {
  const TempDir folder;
  write_file(folder / "generation_config.json", R"({"eos_token_id": [7, 8], "max_new_tokens": 3,
      "suppress_tokens": [5], "begin_suppress_tokens": [6], "bad_words_ids": [[1], [2, 3]],
      "no_repeat_ngram_size": 4, "min_new_tokens": 2, "min_length": 9,
      "repetition_penalty": 1.5, "stop_strings": ["a", "b"]})");
  const auto config = read_generation_config(folder.path(), small_tokenizer());
  EXPECT_EQ(config.max_new_tokens, 3);
  EXPECT_EQ(config.stop_strings, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(config.sampling.repetition_penalty, 1.5);
  EXPECT_EQ(config.sampling.suppressed, Ids{5});
  EXPECT_EQ(config.sampling.suppressed_first, Ids{6});
  EXPECT_EQ(config.sampling.bad_words, (std::vector<Ids>{{1}, {2, 3}}));
  EXPECT_EQ(config.sampling.no_repeat_ngram, 4);
  EXPECT_EQ(config.sampling.min_tokens, 2);
  EXPECT_EQ(config.sampling.min_length, 9);
  EXPECT_EQ(config.sampling.min_tokens_ends, (Ids{7, 8}));
  EXPECT_FALSE(config.sampling.is_plain_greedy());
  write_file(folder / "generation_config.json", R"({"stop_strings": "x"})");
  const auto plain = read_generation_config(folder.path(), small_tokenizer());
  EXPECT_EQ(plain.stop_strings, std::vector<std::string>{"x"});
  EXPECT_TRUE(plain.sampling.is_plain_greedy());
  for (const char* broken : {R"({"bad_words_ids": [[]]})", R"({"min_new_tokens": -1})",
                             R"({"suppress_tokens": ["a"]})", R"({"max_new_tokens": 1.5})"}) {
    write_file(folder / "generation_config.json", broken);
    EXPECT_ERROR(read_generation_config(folder.path(), small_tokenizer()), ErrorCode::InvalidFile,
                 "generation_config.json: ");
  }
}

TEST(GenerationConfig, NamesSettingsThatAreNotApplied) {
  const TempDir folder;
  write_file(folder / "generation_config.json",
             R"({"num_beams": 4, "guidance_scale": 1, "forced_eos_token_id": 2})");
  std::string warnings;
  const LogScope log(LogLevel::Warn, [&](LogLevel, std::string_view text) {
    warnings += std::string(text) + "\n";
  });
  read_generation_config(folder.path(), small_tokenizer());
  EXPECT_EQ(warnings,
            "generation_config.json: num_beams: 4 is not applied\n"
            "generation_config.json: forced_eos_token_id: 2 is not applied\n");
}

// As in the files of Mamba 2.
TEST(GenerationConfig, ReadsPythonsInfinity) {
  const TempDir folder;
  write_file(folder / "config.json", R"({"time_step_limit": [0.0, Infinity], "eos_token_id": 8})");
  write_file(folder / "generation_config.json",
             R"({"x": {"__float__": "NaN"}, "y": -Infinity, "eos_token_id": 7})");
  write_file(folder / "tokenizer_config.json", R"({"z": Infinity, "eos_token": "<end>"})");
  EXPECT_EQ(read_generation_config(folder.path(), small_tokenizer()).end_ids, (Ids{7, 8, 1}));
}

TEST(GenerationConfig, RefusesBrokenFiles) {
  const TempDir folder;
  write_file(folder / "generation_config.json", R"({"eos_token_id": "two"})");
  EXPECT_ERROR(read_generation_config(folder.path(), small_tokenizer()), ErrorCode::InvalidFile,
               "eos_token_id");
  write_file(folder / "generation_config.json", "{");
  EXPECT_ERROR(read_generation_config(folder.path(), small_tokenizer()), ErrorCode::InvalidFile,
               "generation_config.json");
}

}  // namespace
}  // namespace pippin::runtime
