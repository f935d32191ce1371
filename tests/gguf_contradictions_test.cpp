// GGUF files whose metadata and tensors do not fit, and parts that do not belong together.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/app/open/gguf_model.h"
#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/models/registry.h"
#include "tests/gguf_testing.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using testing_gguf::GgufFile;

// A Llama of one layer, of zeros.
GgufFile small_llama(const std::string& skipped_key = "") {
  GgufFile file;
  file.text("general.architecture", "llama");
  const std::pair<const char*, uint32_t> sizes[] = {
      {"block_count", 1},          {"context_length", 64},       {"embedding_length", 8},
      {"feed_forward_length", 16}, {"attention.head_count", 2},  {"attention.head_count_kv", 1},
      {"attention.key_length", 4}, {"attention.value_length", 4}};
  for (const auto& [key, value] : sizes) {
    if (key != skipped_key) file.number(std::string("llama.") + key, value);
  }
  file.real("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  return file;
}

void put_zeros(GgufFile& file, const std::string& skipped = "") {
  const std::pair<const char*, std::vector<int64_t>> tensors[] = {
      {"token_embd.weight", {4, 8}},        {"output_norm.weight", {8}},
      {"blk.0.attn_norm.weight", {8}},      {"blk.0.attn_q.weight", {8, 8}},
      {"blk.0.attn_k.weight", {4, 8}},      {"blk.0.attn_v.weight", {4, 8}},
      {"blk.0.attn_output.weight", {8, 8}}, {"blk.0.ffn_norm.weight", {8}},
      {"blk.0.ffn_gate.weight", {16, 8}},   {"blk.0.ffn_up.weight", {16, 8}},
      {"blk.0.ffn_down.weight", {8, 16}}};
  for (const auto& [name, shape] : tensors) {
    if (!skipped.empty() && std::string_view(name).starts_with(skipped)) continue;
    size_t elements = 1;
    for (const int64_t size : shape) elements *= static_cast<size_t>(size);
    file.tensor(name, shape, std::string(elements * sizeof(float), '\0'));
  }
}

void put_four_tokens(GgufFile& file) {
  file.text("tokenizer.ggml.model", "gpt2").texts("tokenizer.ggml.tokens", {"a", "b", "c", "d"});
  file.texts("tokenizer.ggml.merges", {});
}

// An unknown function of experts' scores is named as the file has it.
TEST(GgufContradictions, UnknownScoresOfExperts) {
  const TempDir dir;
  const auto open = [&](uint32_t gating) {
    GgufFile file = small_llama();
    file.number("llama.expert_count", 4).number("llama.expert_used_count", 2);
    file.number("llama.expert_gating_func", gating);
    put_four_tokens(file);
    put_zeros(file, "blk.0.ffn_");
    file.tensor("blk.0.ffn_norm.weight", {8}, std::string(32, '\0'));
    file.tensor("blk.0.ffn_gate_inp.weight", {4, 8}, std::string(128, '\0'));
    for (const char* part : {"gate", "up", "down"}) {
      const bool down = std::string(part) == "down";
      file.tensor(fmt::format("blk.0.ffn_{}_exps.weight", part), {4, down ? 8 : 16, down ? 16 : 8},
                  std::string(2048, '\0'));
    }
    const auto path = dir / fmt::format("experts{}.gguf", gating);
    file.write(path);
    return models::describe(app::gguf_folder(path));
  };
  using Scores = nn::RouterOptions::Scores;
  const std::pair<uint32_t, Scores> known[] = {{0, Scores::Softmax},
                                               {1, Scores::Softmax},
                                               {2, Scores::Sigmoid},
                                               {3, Scores::Plain},
                                               {4, Scores::SqrtSoftplus}};
  for (const auto& [gating, scores] : known) {
    SCOPED_TRACE(gating);
    const auto description = open(gating);
    const auto& experts =
        std::get<nn::ExpertsOptions>(description.decoder.layers.at(0).feed_forward);
    EXPECT_EQ(experts.router.scores, scores);
    EXPECT_EQ(experts.router.softmax_chosen, gating == 3);
  }
  EXPECT_ERROR(open(9), ErrorCode::Unsupported,
               "experts9.gguf: llama.expert_gating_func: 9 is not known (known: 1 softmax, ");
}

// Each key in turn says something that the tensors do not.
TEST(GgufContradictions, OfMetadataAndTensors) {
  const TempDir dir;
  int number = 0;
  const auto expect = [&](const GgufFile& file, const char* text) {
    const std::string name = fmt::format("m{}.gguf", number++);
    file.write(dir / name);
    EXPECT_ERROR(app::gguf_folder(dir / name), ErrorCode::InvalidFile, name + ": " + text);
  };
  const std::pair<const char*, const char*> wrong[] = {
      {"block_count", "llama.block_count: 3, but tensors are of 1 blocks"},
      {"embedding_length", "llama.embedding_length: 3, but token_embd.weight has 8 columns"},
      {"attention.head_count_kv",
       "llama.attention.head_count_kv: 12, but an axis of blk.0.attn_k.weight says 4"},
      {"attention.key_length",
       "llama.attention.head_count_kv: 3, but an axis of blk.0.attn_k.weight says 4"},
      {"feed_forward_length",
       "llama.feed_forward_length: 3, but blk.0.ffn_gate.weight has 16 rows"}};
  for (const auto& [key, text] : wrong) {
    GgufFile file = small_llama(key);
    file.number(std::string("llama.") + key, 3);
    put_four_tokens(file);
    put_zeros(file);
    expect(file, text);
  }
  GgufFile experts = small_llama();
  experts.number("llama.expert_count", 8).number("llama.expert_used_count", 2);
  put_four_tokens(experts);
  put_zeros(experts);
  experts.tensor("blk.0.ffn_gate_inp.weight", {4, 8}, std::string(128, '\0'));
  expect(experts, "llama.expert_count: 8, but an axis of blk.0.ffn_gate_inp.weight says 4");
  GgufFile tokens = small_llama();
  tokens.texts("tokenizer.ggml.tokens", {"a", "b", "c", "d", "e"});
  put_zeros(tokens);
  expect(tokens, "tokenizer.ggml.tokens: 5 of them, token_embd.weight has 4 rows");
  GgufFile name = small_llama();
  name.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "no-such");
  name.texts("tokenizer.ggml.tokens", {"a"}).texts("tokenizer.ggml.merges", {});
  put_zeros(name);
  name.write(dir / "name.gguf");
  EXPECT_ERROR(app::gguf_folder_with_tokenizer(dir / "name.gguf"), ErrorCode::Unsupported,
               "name.gguf: tokenizer.ggml.pre: 'no-such' is not known");
  GgufFile missing = small_llama();
  put_four_tokens(missing);
  put_zeros(missing, "blk.0.ffn_up.weight");
  missing.write(dir / "missing.gguf");
  EXPECT_ERROR(models::build(app::gguf_folder(dir / "missing.gguf"), {}), ErrorCode::NotFound,
               "up_proj.weight' of shape [16, 8] is missing");
}

// The factor of a stack of gates and ups has no rows to halve.
TEST(GgufContradictions, FactorsOfFusedExperts) {
  const TempDir dir;
  GgufFile file = small_llama();
  file.number("llama.expert_count", 1).number("llama.expert_used_count", 1);
  put_four_tokens(file);
  put_zeros(file);
  file.tensor("blk.0.ffn_gate_inp.weight", {1, 8}, std::string(32, '\0'));
  file.tensor("blk.0.ffn_gate_up_exps.scale", {1}, std::string(4, '\0'));
  file.write(dir / "factor.gguf");
  EXPECT_THROW(models::build(app::gguf_folder(dir / "factor.gguf"), {}), Error);
}

TEST(GgufContradictions, OfParts) {
  const TempDir dir;
  const auto write = [&](const char* folder, uint32_t count, uint32_t second, uint32_t tensors) {
    fs::create_directories(dir / folder);
    GgufFile first = small_llama();
    first.number("split.count", count).number("split.no", 0);
    first.number("split.tensors.count", tensors);
    put_four_tokens(first);
    put_zeros(first, "blk.0.ffn_up.weight");
    first.write(dir / folder / "m-00001-of-00002.gguf");
    GgufFile rest;
    rest.number("split.count", count).number("split.no", second);
    rest.tensor("blk.0.ffn_up.weight", {16, 8}, std::string(512, '\0'));
    rest.write(dir / folder / "m-00002-of-00002.gguf");
    return dir / folder / "m-00001-of-00002.gguf";
  };
  EXPECT_NO_THROW(models::build(app::gguf_folder(write("good", 2, 1, 11)), {}));
  EXPECT_ERROR(app::gguf_folder(write("count", 3, 1, 11)), ErrorCode::InvalidFile,
               "m-00001-of-00002.gguf: split.count: 3, but the folder has 2 files of the model");
  EXPECT_ERROR(app::gguf_folder(write("number", 2, 0, 11)), ErrorCode::InvalidFile,
               "m-00002-of-00002.gguf: split.no: 0, but the file is number 1");
  EXPECT_ERROR(app::gguf_folder(write("tensors", 2, 1, 12)), ErrorCode::InvalidFile,
               "split.tensors.count: 12, but the files have 11 tensors");
}

}  // namespace
}  // namespace pippin
