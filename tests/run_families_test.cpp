// The anemll and windowed families, and additional forms of the stateful one, as models with
// sequences.

#include <algorithm>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"
#include "pippin/io/npz.h"
#include "pippin/io/zip_testing.h"
#include "pippin/mil/package/compiled_testing.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/generator.h"
#include "pippin/runtime/open/loaded_model.h"
#include "pippin/runtime/stateful/model.h"
#include "tests/opened_model.h"
#include "tests/tiny_model.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using namespace testing_models;
using runtime::LoadOptions;
using runtime::PrefillMode;
using runtime::Sequence;
using Ids = std::vector<int32_t>;

const Ids kIds = {3, 17, 5, 22, 0, 9, 9, 14, 1, 20, 7, 11, 2};

std::vector<float> copy(std::span<const float> values) {
  return {values.begin(), values.end()};
}

void expect_near(std::span<const float> have, std::span<const float> want, float tolerance) {
  ASSERT_EQ(have.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(have[i], want[i], tolerance) << i;
}

std::span<const float> row_of(const std::vector<float>& rows, size_t row, size_t width = kVocab) {
  return std::span(rows).subspan(row * width, width);
}

OpenedModel open(const fs::path& path, LoadOptions options = {}) {
  options.threads = 1;
  return runtime::make_runnable(runtime::find_packages(path), options);
}

// Relative to the largest logit; twice the values measured with scalar, AVX2 and AVX-512 kernels.
constexpr double kAnemllTolerance = 6e-4;    // against the model in double: fp16 in between
constexpr double kWindowedTolerance = 5e-5;  // against another fp16 implementation's results
constexpr double kFormsTolerance = 1e-4;     // against the same program with other inputs
constexpr double kLegacyTolerance = 5e-4;    // measured: 0; a rounding of the output to fp16

// Every way of feeding: a prompt, tokens after it, and all rows at once.
void expect_logits(Sequence& sequence, const std::vector<float>& want, const Ids& ids = kIds,
                   double relative = kAnemllTolerance) {
  const size_t width = want.size() / ids.size();
  double largest = 0;
  for (const float logit : want) largest = std::max<double>(largest, std::abs(logit));
  const auto tolerance = static_cast<float>(relative * largest);
  for (const size_t prompt : {ids.size() - 3, size_t{1}}) {
    SCOPED_TRACE("a prompt of " + std::to_string(prompt));
    sequence.reset();
    expect_near(sequence.prefill(std::span(ids).first(prompt)), row_of(want, prompt - 1, width),
                tolerance);
    for (size_t t = prompt; t < ids.size(); ++t) {
      expect_near(sequence.decode(ids[t]), row_of(want, t, width), tolerance);
    }
    EXPECT_EQ(sequence.position(), std::ssize(ids));
  }
  sequence.reset();
  expect_near(sequence.prefill(std::span(ids).first(2)), row_of(want, 1, width), tolerance);
  expect_near(sequence.prefill(std::span(ids).subspan(2)), row_of(want, ids.size() - 1, width),
              tolerance);
  sequence.reset();
  expect_near(sequence.all_logits(ids), want, tolerance);
}

// The message of the error on opening.
std::string fault(const fs::path& path, LoadOptions options = {}) {
  try {
    open(path, options);
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), message.npos);
    return message;
  }
  return "opened";
}
#define EXPECT_FAULT(message, part) EXPECT_NE((message).find(part), std::string::npos) << (message)

constexpr const char* kMeta =
    "model_info:\n  name: anemll-tiny-ctx32\n  parameters:\n    context_length: 32\n"
    "    batch_size: 4\n    num_chunks: 2\n    model_prefix: tiny\n"
    "    embeddings: tiny_embeddings_lut6\n    lm_head: tiny_lm_head.mlmodelc\n"
    "    ffn: tiny_FFN_PF_lut6\n";

TEST(Anemll, EveryWayOfFeedingGivesTheLogits) {
  const TempDir folder;
  write_anemll(folder.path());
  for (const PrefillMode mode : {PrefillMode::Auto, PrefillMode::Batches, PrefillMode::Steps}) {
    for (const bool low_memory : {false, true}) {
      const auto model = open(folder.path(), {.low_memory = low_memory, .prefill = mode});
      EXPECT_EQ(model.model->context(), kContext);
      EXPECT_EQ(model.model->vocab_size(), kVocab);
      expect_logits(*model.sequence, expected_logits(kIds));
    }
  }
}

TEST(Anemll, FillsTheContextAndNoMore) {
  const TempDir folder;
  write_anemll(folder.path());
  const auto model = open(folder.path());
  Ids ids;
  for (int32_t i = 0; i < kContext; ++i) ids.push_back(i * 7 % kVocab);
  expect_logits(*model.sequence, expected_logits(ids), ids);
  EXPECT_ERROR(model.sequence->decode(1), ErrorCode::LimitExceeded,
               "the sequence would have 33 tokens, the model's context holds 32");
  EXPECT_EQ(model.sequence->position(), kContext);
  EXPECT_EQ(model.model->tokens_after_shift(), 24);  // (32 / 4 - 2) * 4
}

TEST(Anemll, MetaNamesTheFilesInItsManyWays) {
  const TempDir folder;
  write_anemll(folder.path());
  for (const char* ffn : {"tiny_FFN_PF_lut6", "tiny_FFN_PF_lut6_chunk_01of02",
                          "tiny_FFN_PF_lut6_chunk_01of02.mlmodelc", "none"}) {
    std::string meta = kMeta;
    meta.replace(meta.find("tiny_FFN_PF_lut6"), 16, ffn);
    write_text(folder / "meta.yaml", meta);
    EXPECT_EQ(fault(folder.path()), "opened") << ffn;
  }
}

TEST(Anemll, AnUnsafePrefillIsNotUsed) {
  const TempDir folder;
  write_anemll(folder.path(), {.prefill_offset = 2});
  const auto want = expected_logits(kIds);
  const auto differs = [&](const LoadOptions& options) {
    const auto model = open(folder.path(), options);
    const auto have = copy(model.sequence->prefill(kIds));
    const auto last = row_of(want, kIds.size() - 1);
    float most = 0;
    for (size_t i = 0; i < have.size(); ++i) most = std::max(most, std::abs(have[i] - last[i]));
    return most > 0.1f;
  };
  write_text(folder / "meta.yaml", kMeta);
  EXPECT_FALSE(differs({}));
  EXPECT_TRUE(differs({.prefill = PrefillMode::Batches}));
  write_text(folder / "meta.yaml", std::string(kMeta) + "    prefill_dynamic_slice: true\n");
  EXPECT_TRUE(differs({}));
  EXPECT_FALSE(differs({.prefill = PrefillMode::Steps}));
}

TEST(Anemll, FillsAnUpdateMaskThatIsDeclared) {
  const TempDir folder;
  write_anemll(folder.path(), {.update_mask = true});
  expect_logits(*open(folder.path()).sequence, expected_logits(kIds));
}

TEST(Anemll, RotatedFunctionsBeginAtTheWindow) {
  const TempDir folder;
  write_anemll(folder.path(), {.rotated_offset = 0.5});
  EXPECT_FAULT(fault(folder.path()), "says its size");
  write_text(folder / "meta.yaml",
             std::string(kMeta) + "    sliding_window: 7\n" + "    update_mask_prefill: true\n");
  expect_logits(*open(folder.path()).sequence, expected_logits(kIds, {2, 3}, 7, 0.5));
}

TEST(Anemll, AHeadThatChoosesGivesTheLikeliestToken) {
  const TempDir folder;
  write_anemll(folder.path(), {.argmax = true});
  EXPECT_FAULT(fault(folder.path()), "lm_head_chunk_sizes");
  write_text(folder / "meta.yaml", std::string(kMeta) + "    argmax_in_model: true\n" +
                                       "    lm_head_chunk_sizes: [8, 8, 7]\n" +
                                       "    recommended_sampling: {temperature: 0.6, top_k: 40}\n");
  const auto runnable = open(folder.path());
  Sequence& model = *runnable.sequence;
  EXPECT_TRUE(runnable.model->capabilities().greedy_only);
  EXPECT_EQ(runnable.model->vocab_size(), kVocab);
  const auto want = expected_logits(kIds);
  for (size_t t = 0; t < kIds.size(); ++t) {
    const auto row = row_of(want, t);
    const auto best = std::max_element(row.begin(), row.end()) - row.begin();
    const auto have = model.decode(kIds[t]);
    EXPECT_EQ(std::max_element(have.begin(), have.end()) - have.begin(), best);
    EXPECT_EQ(model.greedy_token(), best);
  }
  EXPECT_ERROR(model.all_logits(kIds), ErrorCode::Unsupported,
               "this model chooses its most likely token itself and has no logits to give");
  model.reset();
  const auto go_on = [](int32_t) { return true; };
  const auto text = runtime::generate(model, kIds, {.max_tokens = 4}, go_on);
  EXPECT_EQ(text.ids.size(), 4U);
  model.reset();
  runtime::GenerateOptions warm;
  warm.sampling.temperature = 0.5;
  EXPECT_ERROR(runtime::generate(model, kIds, warm, go_on), ErrorCode::Unsupported,
               "no logits to sample from: no temperature, penalties, biases, processors or log "
               "probabilities");
}

TEST(Anemll, OnePackageWithEverything) {
  const TempDir folder;
  PackageMaker maker;
  StepOptions step{.takes_ids = true, .gives_logits = true};
  add_step(maker, "infer", step, 2);
  step.query = 4;
  step.offset = 1;  // a prefill's logits must not be used
  add_step(maker, "prefill", step, 2);
  maker.write(folder / "m_monolithic_full.mlpackage");
  for (const fs::path& path : {folder.path(), folder / "m_monolithic_full.mlpackage"}) {
    expect_logits(*open(path).sequence, expected_logits(kIds));
    expect_logits(*open(path, {.low_memory = true}).sequence, expected_logits(kIds));
  }
  write_text(folder / "meta.yaml",
             "model_info:\n  model_type: monolithic\n  parameters:\n    context_length: 16\n"
             "    monolithic_model: m_monolithic_full\n");
  EXPECT_EQ(open(folder.path()).model->context(), 16);
}

TEST(Anemll, AdaptersAreFunctions) {
  const TempDir folder;
  PackageMaker maker;
  StepOptions step{.takes_ids = true, .gives_logits = true};
  add_step(maker, "infer", step);
  step.offset = 0.5;
  add_step(maker, "infer_pirate", step);
  maker.model.metadata.user_defined["pippin.adapters"] = "pirate, poet";
  maker.write(folder / "m.mlpackage");
  expect_logits(*open(folder / "m.mlpackage").sequence, expected_logits(kIds));
  expect_logits(*open(folder / "m.mlpackage", {.adapter = "pirate"}).sequence,
                expected_logits(kIds, {kLayers}, 0, 0.5));
  EXPECT_FAULT(fault(folder / "m.mlpackage", {.adapter = "x"}), "there are pirate, poet");
}

TEST(Anemll, CompiledAndZippedPartsAreRead) {
  const TempDir folder;
  write_anemll(folder / "packages");
  fs::create_directory(folder / "mixed");
  int count = 0;
  for (const auto& entry : fs::directory_iterator(folder / "packages")) {
    const std::string stem = entry.path().stem().string();
    const fs::path compiled = folder / (stem + ".mlmodelc");
    mil::write_compiled(mil::read_package(entry.path()), compiled);
    if (count++ % 2 == 0) {
      fs::rename(compiled, folder / "mixed" / (stem + ".mlmodelc"));
      continue;
    }
    std::vector<std::pair<std::string, std::string>> files;
    for (const auto& file : fs::recursive_directory_iterator(compiled)) {
      if (!file.is_regular_file()) continue;
      const fs::path name = file.path().lexically_relative(folder.path());
      files.emplace_back(name.string(), read_file(file.path()));
    }
    mil::put_file(folder / "mixed" / (stem + ".mlmodelc.zip"), stored_zip(files));
  }
  const auto unpacked = [] {
    int folders = 0;
    for (const auto& entry : fs::directory_iterator(fs::temp_directory_path())) {
      folders += entry.path().filename().string().starts_with("pippin-unpacked-") ? 1 : 0;
    }
    return folders;
  };
  const int before = unpacked();
  {
    const auto model = open(folder / "mixed");
    EXPECT_EQ(unpacked(), before + count / 2);
    expect_logits(*model.sequence, expected_logits(kIds));
  }
  EXPECT_EQ(unpacked(), before);
}

TEST(Anemll, FaultsNameTheFiles) {
  const TempDir folder;
  write_anemll(folder.path());
  fs::rename(folder / "tiny_FFN_PF_lut6_chunk_02of02.mlpackage", folder / "away");
  EXPECT_FAULT(fault(folder.path()), "chunk 2 of 2 is missing: tiny_FFN_PF_lut6_chunk_02of02");
  fs::rename(folder / "away", folder / "tiny_FFN_PF_lut6_chunk_02of03.mlpackage");
  EXPECT_FAULT(fault(folder.path()),
               "'tiny_FFN_PF_lut6_chunk_01of02.mlpackage' and "
               "'tiny_FFN_PF_lut6_chunk_02of03.mlpackage'");
  fs::remove_all(folder / "tiny_FFN_PF_lut6_chunk_02of03.mlpackage");
  PackageMaker other;
  add_step(other, "main",
           {.first = 2, .state = "model_model_kv_cache_0", .state_slots = kContext + 1});
  other.write(folder / "tiny_FFN_PF_lut6_chunk_02of02.mlpackage");
  const std::string states = fault(folder.path());
  EXPECT_FAULT(states, "[6, 1, 32, 8] in tiny_FFN_PF_lut6_chunk_01of02.mlpackage");
  EXPECT_FAULT(states, "[6, 1, 33, 8] in tiny_FFN_PF_lut6_chunk_02of02.mlpackage");
  write_text(
      folder / "meta.yaml",
      std::string(kMeta).replace(std::string(kMeta).find("num_chunks: 2"), 13, "num_chunks: 3"));
  EXPECT_FAULT(fault(folder.path()), "meta.yaml says 3 chunks");
  fs::remove(folder / "meta.yaml");
  write_anemll(folder.path(), {.prefix = "other"});
  EXPECT_FAULT(fault(folder.path()),
               "several models: 'other_embeddings.mlpackage' and 'tiny_embeddings.mlpackage'");
  fs::remove_all(folder / "other_embeddings.mlpackage");
  fs::remove_all(folder / "tiny_embeddings.mlpackage");
  EXPECT_FAULT(fault(folder.path()), "*_embeddings* is missing");
}

TEST(Anemll, MetadataOfPartsHasToAgree) {
  const TempDir folder;
  write_anemll(folder.path());
  mil::Model head = mil::read_package(folder / "tiny_lm_head.mlpackage");
  head.metadata.user_defined["com.anemll.context_length"] = "64";
  mil::write_package(head, folder / "tiny_lm_head.mlpackage");
  mil::Model embeddings = mil::read_package(folder / "tiny_embeddings.mlpackage");
  embeddings.metadata.user_defined["com.anemll.context_length"] = "32";
  mil::write_package(embeddings, folder / "tiny_embeddings.mlpackage");
  EXPECT_FAULT(fault(folder.path()),
               "'tiny_embeddings.mlpackage' and 'tiny_lm_head.mlpackage' are of different "
               "conversions: com.anemll.context_length is 32 in one and 64 in the other");
}

// coremltools' windowed pipeline with the names of its family.
class Windowed : public testing::Test {
 protected:
  void SetUp() override {
    PIPPIN_SHARED_OR_SKIP(root, "coremltools");
    const std::pair<const char*, const char*> files[] = {{"chunk0_embed", "tiny_chunk1"},
                                                         {"chunk1", "tiny_chunk2"},
                                                         {"chunk2", "tiny_chunk3"},
                                                         {"chunk3_head", "tiny_chunk4"},
                                                         {"cache_processor", "cache-processor"}};
    for (const auto& [from, to] : files) {
      fs::copy(root / (std::string("bc1s_") + from + ".mlpackage"),
               folder_ / (std::string(to) + ".mlpackage"), fs::copy_options::recursive);
    }
    const NpzFile arrays = NpzFile::open(root / "bc1s_pipeline.npz");
    for (const double id : arrays.read("s0.in.input_ids").to_doubles()) {
      ids_.push_back(static_cast<int32_t>(id));
    }
    want_ = arrays.read("s0.out.logits").to_floats();
  }

  TempDir folder_;
  Ids ids_;
  std::vector<float> want_;
};

TEST_F(Windowed, EveryWayOfFeedingGivesTheLogits) {
  for (const bool low_memory : {false, true}) {
    const auto model = open(folder_.path(), {.low_memory = low_memory});
    EXPECT_EQ(model.model->context(), 32);
    EXPECT_EQ(model.model->vocab_size(), 256);
    expect_logits(*model.sequence, want_, ids_, kWindowedTolerance);
  }
}

TEST_F(Windowed, SlidesPastTheContextOnlyWhenAsked) {
  Ids ids;
  for (int i = 0; i < 43; ++i) ids.push_back(ids_[static_cast<size_t>(i) % ids_.size()]);
  EXPECT_ERROR(open(folder_.path()).sequence->prefill(ids), ErrorCode::LimitExceeded,
               "the sequence would have 43 tokens, the model's context holds 32");
  const auto sliding = open(folder_.path(), {.slide = true});
  const auto rows = sliding.sequence->all_logits(ids);
  EXPECT_EQ(rows.size(), ids.size() * 256);
  EXPECT_EQ(sliding.sequence->position(), 43);
  sliding.sequence->reset();
  for (size_t t = 0; t < ids.size(); ++t) {
    expect_near(sliding.sequence->decode(ids[t]), row_of(rows, t, 256), 1e-3f);
  }
}

TEST_F(Windowed, TheLogitProcessorChooses) {
  PackageMaker maker;
  array::Builder builder;
  maker.input("logits", mil::DataType::Float16, {1, 8, 256});
  const auto logits = builder.input("logits", mil::DataType::Float16, {1, 8, 256});
  builder.output("argmax", array::record_one("reduce_argmax", {array::Param("x", logits),
                                                               array::Param("axis", -1)}));
  maker.output("argmax", mil::DataType::Int32, {1, 8});
  maker.finish_function("main", builder);
  maker.write(folder_ / "logit-processor.mlpackage");
  const auto model = open(folder_.path());
  EXPECT_FALSE(model.sequence->greedy_token().has_value());
  for (const int32_t id : ids_) {
    const auto row = copy(model.sequence->decode(id));
    EXPECT_EQ(model.sequence->greedy_token(),
              std::max_element(row.begin(), row.end()) - row.begin());
  }
}

TEST_F(Windowed, FaultsNameTheFiles) {
  fs::rename(folder_ / "tiny_chunk3.mlpackage", folder_ / "away");
  EXPECT_FAULT(fault(folder_.path()), "tiny_chunk3 is missing");
  fs::rename(folder_ / "away", folder_ / "other_chunk3.mlpackage");
  EXPECT_FAULT(fault(folder_.path()), "several models: ");
  fs::rename(folder_ / "other_chunk3.mlpackage", folder_ / "tiny_chunk3.mlpackage");
  fs::rename(folder_ / "cache-processor.mlpackage", folder_ / "away");
  EXPECT_FAULT(fault(folder_.path()), "cache-processor is missing");
  fs::rename(folder_ / "away", folder_ / "cache-processor.mlpackage");
  PackageMaker other;
  array::Builder builder;
  other.input("x", mil::DataType::Float16, {1, 48, 1, 8});
  const auto x = builder.input("x", mil::DataType::Float16, {1, 48, 1, 8});
  builder.output("logits", array::transpose(array::squeeze(x, {2}), {0, 2, 1}));
  other.output("logits", mil::DataType::Float16, {1, 8, 48});
  other.finish_function("main", builder);
  other.write(folder_ / "tiny_chunk4.mlpackage");
  EXPECT_FAULT(fault(folder_.path()),
               "'x' is [1, 64, 1, 8] in 'tiny_chunk3.mlpackage' and "
               "[1, 48, 1, 8] in 'tiny_chunk4.mlpackage'");
}

// The stateful family with other numbers of tokens per run.
class StatefulForms : public testing::Test {
 protected:
  void SetUp() override {
    PIPPIN_SHARED_OR_SKIP(folder, "architectures/llama_gqa_llama3_tied");
    folder_ = folder;
    program_ = models::build(folder_, {.context = 32});
    want_ = runtime::make_stateful_model(program_, pool_)->new_sequence()->all_logits(ids_);
  }
  mil::Feature& input(size_t index) { return program_.functions[0].inputs[index]; }
  void check() {
    for (const int64_t chunk : {256, 5}) {
      const auto model = runtime::make_stateful_model(program_, pool_, {.prefill_chunk = chunk});
      EXPECT_EQ(model->context(), 32);
      expect_logits(*model->new_sequence(), want_, ids_, kFormsTolerance);
    }
  }

  fs::path folder_;
  Ids ids_ = {1, 103, 107, 61, 78, 32, 83, 86, 61, 101, 118};
  ThreadPool pool_{1};
  mil::Model program_;
  std::vector<float> want_;
};

TEST_F(StatefulForms, AFixedNumberOfTokens) {
  input(0).ranges.clear();
  input(0).shape = {1, 8};
  check();
  const Ids full(32, 7);
  const auto sequence = runtime::make_stateful_model(program_, pool_)->new_sequence();
  sequence->prefill(full);
  EXPECT_ERROR(sequence->decode(1), ErrorCode::LimitExceeded,
               "the sequence would have 33 tokens, the model's context holds 32");
}

TEST_F(StatefulForms, EnumeratedNumbersOfTokens) {
  input(0).ranges.clear();
  input(0).enumerated_shapes = {{1, 1}, {1, 4}, {1, 16}};
  check();
}

TEST_F(StatefulForms, ASecondFunctionForPrompts) {
  mil::Model second = models::build(folder_, {.context = 32});
  program_.functions.push_back(second.functions[0]);
  program_.functions[1].name = "anything";
  program_.functions[1].inputs[0].ranges[1] = {2, 6};
  program_.functions[0].inputs[0].ranges[1] = {1, 1};
  program_.program.functions.emplace("anything", std::move(second.program.functions["main"]));
  program_.multifunction = true;
  check();
}

TEST(Legacy, IdsArePaddedAndThereIsNoCache) {
  const TempDir folder;
  const TinyWeights w;
  // The running mean of the tokens' embeddings, without masked ones.
  PackageMaker maker;
  array::Builder builder;
  maker.input("input_ids", mil::DataType::Int32, {1, 16});
  maker.input("attentionMask", mil::DataType::Int32, {1, 16});
  const auto ids = builder.input("input_ids", mil::DataType::Int32, {1, 16});
  const auto mask = builder.input("attentionMask", mil::DataType::Int32, {1, 16});
  const auto x = array::gather(
      array::constant(mil::DataType::Float16, {kVocab, kHidden}, w.embedding), ids, 0);
  const auto seen = x * array::expand_dims(array::cast(mask, mil::DataType::Float16), {2});
  const auto sum = array::record_one("cumsum", {array::Param("x", seen), array::Param("axis", 1)});
  builder.output("logits", array::linear(sum, array::constant(mil::DataType::Float16,
                                                              {kVocab, kHidden}, w.head)));
  maker.output("logits", mil::DataType::Float16, {1, 16, kVocab});
  maker.finish_function("main", builder);
  maker.write(folder / "m.mlpackage");
  std::vector<float> want;
  std::vector<double> sums(kHidden);
  for (const int32_t id : kIds) {
    for (size_t i = 0; i < kHidden; ++i)
      sums[i] += w.embedding[static_cast<size_t>(id) * kHidden + i];
    for (size_t o = 0; o < kVocab; ++o) {
      double logit = 0;
      for (size_t i = 0; i < kHidden; ++i) logit += sums[i] * w.head[o * kHidden + i];
      want.push_back(static_cast<float>(logit));
    }
  }
  const auto model = open(folder / "m.mlpackage");
  EXPECT_EQ(model.model->context(), 16);
  expect_logits(*model.sequence, want, kIds, kLegacyTolerance);
}

}  // namespace
}  // namespace pippin
