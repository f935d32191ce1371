// CoreML-LLM's bundles of Gemma 4 give the texts of the checkpoint that they are made of.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pippin/app/facts/model_facts.h"
#include "pippin/app/open/open_model.h"
#include "pippin/array/array.h"
#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/log.h"
#include "pippin/base/testing.h"
#include "pippin/mil/data_type.h"
#include "pippin/mil/model.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/program.h"
#include "pippin/models/family/package_part.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/load_options.h"
#include "pippin/runtime/sequence.h"
#include "tests/coreml_llm_bundle.h"
#include "tests/coreml_llm_fixture.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using testing_models::BundleLayout;
using testing_models::kBundleContext;
using namespace testing_coreml_llm;

// Random tokens, beyond the window of the sliding layers, up to the last position.
TEST_F(CoreMlLlm, ChoosesTheTokensOfTheCheckpoint) {
  constexpr float kTolerance = 0.15F;  // the chunks and their caches are of fp16
  const auto source = open(folder_ / "checkpoint");
  const auto four = open(write("four", BundleLayout::Four));
  const auto three = open(write("three", BundleLayout::Three));
  std::mt19937 random(7);
  std::set<int32_t> chosen;
  for (int run = 0; run < 4; ++run) {
    const auto sequence = source.model->new_sequence();
    const std::unique_ptr<runtime::Sequence> others[] = {four.model->new_sequence(),
                                                         three.model->new_sequence()};
    for (int64_t i = 0; i < kBundleContext; ++i) {
      const auto id = static_cast<int32_t>(random() % 40);
      const auto expected = sequence->decode(id);
      const float most = *std::max_element(expected.begin(), expected.end());
      for (const auto& other : others) {
        const auto given = other->decode(id);
        const auto best = static_cast<size_t>(best_of(given));
        EXPECT_GE(expected[best], most - kTolerance) << "at " << i;
        EXPECT_NEAR(given[best], expected[best], kTolerance) << "at " << i;
        chosen.insert(static_cast<int32_t>(best));
      }
    }
  }
  EXPECT_GT(chosen.size(), 15U);
}

TEST_F(CoreMlLlm, ContinuesPrompts) {
  const fs::path four = write("four", BundleLayout::Four);
  for (const Ids& prompt : {Ids{5}, Ids{3, 17, 22, 9}, Ids{31, 2, 2, 8, 14, 39, 0, 7, 26}}) {
    const Ids expected = continuation(folder_ / "checkpoint", prompt);
    EXPECT_GT(std::set<int32_t>(expected.begin(), expected.end()).size(), 1U);
    EXPECT_EQ(continuation(four, prompt), expected);
  }
}

// The template belongs to the tokenizer, wherever that is.
TEST_F(CoreMlLlm, HasTheTemplateOfItsTokenizer) {
  const fs::path four = write("four", BundleLayout::Four);
  write_file(four / "hf_model" / "chat_template.jinja", "{{ messages }}");
  EXPECT_EQ(app::read_model_facts(four, {}).template_source, "{{ messages }}");
  fs::rename(four / "hf_model", four / "tokenizer");
  EXPECT_EQ(app::read_model_facts(four, {}).template_source, "{{ messages }}");
}

TEST_F(CoreMlLlm, KeepsItsSequencesApart) {
  const auto model = open(write("four", BundleLayout::Four));
  EXPECT_EQ(model.model->context(), kBundleContext);
  EXPECT_TRUE(model.model->capabilities().greedy_only);
  const auto one = model.model->new_sequence(), other = model.model->new_sequence();
  const Ids expected = continuation(*one, {3, 17, 22});
  other->prefill(Ids{3, 17});
  const auto fork = other->fork();
  other->prefill(Ids{30, 31});
  EXPECT_EQ(continuation(*fork, {22}), expected);
  EXPECT_EQ(fork->greedy_token(), expected.back());
  one->reset();
  EXPECT_EQ(continuation(*one, {3, 17, 22}), expected);
  EXPECT_ERROR(one->decode(1), ErrorCode::LimitExceeded, "96");
  // A logit of the chosen token alone.
  other->reset();
  const auto logits = other->prefill(Ids{3, 17, 22});
  EXPECT_EQ(std::count_if(logits.begin(), logits.end(), [](float x) { return std::isfinite(x); }),
            1);
}

TEST_F(CoreMlLlm, NamesFilesThatDoNotFit) {
  const fs::path bundle = write("four", BundleLayout::Four);
  const std::string config = read_file(bundle / "model_config.json");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = config;
    text.replace(text.find(from), from.size(), to);
    write_file(bundle / "model_config.json", text);
  };
  with("\"context_length\": 96", "\"context_length\": 95");
  EXPECT_ERROR(open(bundle), ErrorCode::InvalidFile,
               "'update_mask' takes 96 elements, model_config.json and the tables have 95");
  with("\"vocab_size\": 40", "\"vocab_size\": 41");
  EXPECT_ERROR(open(bundle), ErrorCode::InvalidFile,
               "embed_tokens_q8.bin: 1280 bytes, 41 rows of 32 are expected");
  with("\"architecture\": \"gemma4\"", "\"architecture\": \"lfm2\"");
  EXPECT_ERROR(open(bundle), ErrorCode::Unsupported, "architecture 'lfm2' is not supported");
  with("\"context_length\": 96, ", "");
  EXPECT_ERROR(open(bundle), ErrorCode::InvalidFile, "context_length");
  with("\"per_layer_dim\": 8, ", "");
  EXPECT_ERROR(open(bundle), ErrorCode::InvalidFile, "2560 bytes, 40 rows of 2048 are expected");
  with("\"sliding_window\": 6", "\"sliding_window\": 0");
  EXPECT_ERROR(open(bundle), ErrorCode::InvalidFile,
               "sliding_window: expected an integer from 1 to");
  with("\"embed_scale\": ", "\"embed_scale\": 1e39, \"other\": ");
  EXPECT_ERROR(open(bundle), ErrorCode::InvalidFile, "embed_scale: not a finite fp32 number");
  write_file(bundle / "model_config.json", config);
  fs::remove(bundle / "sin_full.npy");
  EXPECT_ERROR(open(bundle), ErrorCode::NotFound, "sin_full.npy");
  fs::remove_all(bundle / "chunk3.mlpackage");
  EXPECT_ERROR(open(bundle), ErrorCode::NotFound, "there is no package 'chunk3'");
}

// The rows of the second table have 2^64 bytes, and its files none.
TEST_F(CoreMlLlm, RejectsSizesWhoseProductOverflows) {
  const fs::path bundle = write("four", BundleLayout::Four);
  write_file(bundle / "model_config.json",
             R"({"architecture": "gemma4", "hidden_size": 1, "num_layers": 16777216,
                 "vocab_size": 16777216, "context_length": 24, "per_layer_dim": 65536})");
  const auto resize = [&](const char* name, uintmax_t bytes) {
    fs::resize_file(bundle / name, bytes);
  };
  resize("embed_tokens_q8.bin", uintmax_t{1} << 24);
  resize("embed_tokens_scales.bin", uintmax_t{1} << 25);
  resize("embed_tokens_per_layer_q8.bin", 0);
  resize("embed_tokens_per_layer_scales.bin", uintmax_t{1} << 25);
  EXPECT_ERROR(open(bundle), ErrorCode::InvalidFile,
               "embed_tokens_per_layer_q8.bin: 0 bytes, 16777216 rows of 1099511627776");
}

// Factors are the square roots of the widths, as in the configurations that have them.
TEST_F(CoreMlLlm, HasDefaultsOfFactors) {
  const fs::path bundle = write("four", BundleLayout::Four);
  const Ids expected = continuation(bundle, {3, 17, 22});
  std::string config = read_file(bundle / "model_config.json");
  config.replace(config.find(", \"embed_scale\""), std::string::npos, "}");
  write_file(bundle / "model_config.json", config);
  EXPECT_EQ(continuation(bundle, {3, 17, 22}), expected);
}

// In place of a chunk, a package that doubles one input.
TEST_F(CoreMlLlm, NamesArraysThatDoNotFit) {
  const fs::path bundle = write("four", BundleLayout::Four);
  const auto write_chunk = [&](const char* name, const char* input, const char* output,
                               std::vector<int64_t> shape, bool half = false,
                               mil::DataType type = mil::DataType::Float16) {
    models::FunctionRecorder recorder("main", mil::Opset::CoreML8);
    array::Array x = recorder.input(input, type, std::move(shape));
    if (half) x = array::slice_axis(x, 0, 0, x.dim(0).constant() / 2);
    recorder.output(output, x + x);
    mil::Model model = models::empty_model({}, "chunk", mil::Opset::CoreML8);
    recorder.add_to(model);
    fs::remove_all(bundle / name);
    mil::write_package(model, bundle / name);
  };
  write_chunk("chunk4.mlpackage", "hidden_states", "token_id", {1, 1, 32});
  EXPECT_ERROR(open(bundle), ErrorCode::InvalidFile, "chunk4.mlpackage: 'token_id' is not one");
  write_chunk("chunk4.mlpackage", "hidden_states", "token", {1, 1, 32});
  EXPECT_ERROR(open(bundle), ErrorCode::InvalidFile, "chunk4.mlpackage: has no output 'token_id'");
  write_chunk("chunk3.mlpackage", "K_full_in", "K_full_out", {4, 3}, /*half=*/true);
  EXPECT_ERROR(open(bundle), ErrorCode::InvalidFile,
               "'K_full_in' takes 12 elements, 'K_full_out' of chunk3.mlpackage has 6");
  write_chunk("chunk3.mlpackage", "hidden_states", "y", {1, 1, 31});
  EXPECT_ERROR(open(bundle), ErrorCode::InvalidFile,
               "'hidden_states' takes 31 elements, 'hidden_states_out' of chunk2.mlpackage has 32");
  write_chunk("chunk3.mlpackage", "hidden_states", "y", {1, 1, 32}, false, mil::DataType::Int32);
  EXPECT_ERROR(open(bundle), ErrorCode::InvalidFile,
               "chunk3.mlpackage: 'hidden_states' has elements of type int32; floats");
  write_chunk("chunk3.mlpackage", "kv15_k", "y", {1, 1, 32});
  EXPECT_ERROR(open(bundle), ErrorCode::InvalidFile,
               "chunk3.mlpackage: no chunk before it gives its input 'kv15_k'");
}

TEST_F(CoreMlLlm, TellsWhatItDoesNotUse) {
  const fs::path bundle = write("three", BundleLayout::Three);
  std::vector<std::string> lines;
  const LogScope log(LogLevel::Warn,
                     [&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  open(bundle);
  EXPECT_EQ(lines, std::vector<std::string>());
  const fs::path chunk = bundle / "swa" / "chunk1.mlpackage";
  for (const char* other : {"vision_video.mlpackage", "swa/audio.mlpackage"}) {
    fs::copy(chunk, bundle / other, fs::copy_options::recursive);
  }
  mil::Model model = mil::read_package(chunk);
  models::FunctionRecorder verify("verify_qK", mil::Opset::CoreML8);
  verify.output("y", verify.input("x", mil::DataType::Float16, {1, 2}) * 2.0);
  verify.add_to(model);
  fs::remove_all(chunk);
  mil::write_package(model, chunk);
  const Ids expected = continuation(folder_ / "checkpoint", {5, 7});
  EXPECT_EQ(continuation(bundle, {5, 7}), expected);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], testing::EndsWith("three: does not use vision_video, swa/audio, "
                                          "verify_qK of chunk1"));
}

TEST_F(CoreMlLlm, RejectsWhatItDoesNotSupport) {
  const fs::path bundle = write("four", BundleLayout::Four);
  const auto open_with = [&](const auto& change) {
    app::ModelChoice choice;
    choice.path = bundle.string();
    change(choice.load);
    return app::open_model(choice);
  };
  EXPECT_ERROR(open_with([](auto& load) { load.low_memory = true; }), ErrorCode::Unsupported,
               "--low-memory");
  EXPECT_ERROR(open_with([](auto& load) { load.prefill = runtime::PrefillMode::Batches; }),
               ErrorCode::Unsupported, "has no packages for batches ('prefill_chunk1', or");
  EXPECT_ERROR(open_with([](auto& load) { load.adapter = "formal"; }), ErrorCode::NotFound,
               "unknown adapter 'formal'");
  const auto model = open(bundle);
  EXPECT_ERROR(model.image_input("four"), ErrorCode::Unsupported, "four: the model takes text");
  const auto sequence = model.model->new_sequence();
  sequence->prefill(Ids{3, 17});
  EXPECT_ERROR(sequence->truncate(1), ErrorCode::Unsupported, "only to 2 or 0");
  EXPECT_ERROR(sequence->save(folder_ / "saved"), ErrorCode::Unsupported, "cannot be saved");
  EXPECT_ERROR(sequence->all_logits(Ids{3, 17}), ErrorCode::Unsupported, "no logits");
  // Chunks of another form, in the folder or in one of its own.
  fs::rename(bundle / "chunk1.mlpackage", bundle / "chunk_1.mlpackage");
  EXPECT_ERROR(open(bundle), ErrorCode::Unsupported, "chunks with states ('chunk_1')");
  fs::create_directory(bundle / "gemma4_e2b_stateful_chunks");
  fs::rename(bundle / "chunk_1.mlpackage",
             bundle / "gemma4_e2b_stateful_chunks" / "chunk_1.mlpackage");
  EXPECT_ERROR(open(bundle), ErrorCode::Unsupported,
               "gemma4_e2b_stateful_chunks: chunks with states ('chunk_1')");
}

TEST_F(CoreMlLlm, RejectsStatesOfAChunk) {
  const fs::path bundle = write("four", BundleLayout::Four);
  fs::remove_all(bundle / "chunk2.mlpackage");
  mil::write_package(models::build(folder_ / "checkpoint"), bundle / "chunk2.mlpackage");
  EXPECT_ERROR(open(bundle), ErrorCode::Unsupported, "(supported: caches as inputs)");
}

}  // namespace
}  // namespace pippin
