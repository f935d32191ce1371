#include "pippin/runtime/generation_config.h"

#include <string>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/output.h"
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

// As Mamba 2's files have them.
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
