// Compares sequences of every family that decode together with the same ones alone.

#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/family/anemll.h"
#include "pippin/models/family/windowed.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/batch.h"
#include "pippin/runtime/open/loaded_model.h"
#include "tests/tiny_model.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using namespace testing_models;
using runtime::Batch;
using runtime::LoadOptions;
using runtime::Model;
using runtime::Sequence;
using Ids = std::vector<int32_t>;

constexpr float kTolerance = 1e-4F;  // of the largest logit

// A sequence among others, and the same one alone in another instance of the model.
struct Pair {
  Sequence* together;
  std::vector<float> alone;  // rows of logits
  Ids ids;
  size_t done = 0;
};

float largest(std::span<const float> values) {
  float most = 0;
  for (const float value : values) {
    if (std::isfinite(value)) most = std::max(most, std::abs(value));
  }
  return most;
}

void expect_row(std::span<const float> have, const Pair& pair, float tolerance) {
  const size_t width = have.size();
  const auto want = std::span(pair.alone).subspan((pair.done - 1) * width, width);
  const float allowed = tolerance * largest(want);
  for (size_t i = 0; i < width; ++i) {
    if (std::isinf(want[i])) {
      ASSERT_EQ(have[i], want[i]) << "token " << pair.done << ", logit " << i;
    } else {
      ASSERT_NEAR(have[i], want[i], allowed) << "token " << pair.done << ", logit " << i;
    }
  }
}

// Prompts of different lengths, then steps with some of the sequences.
void expect_together(Model& model, Model& other_model, float tolerance, size_t length = 24) {
  constexpr size_t kSequences = 5;
  std::mt19937 random(7);
  const auto other = other_model.new_sequence();
  std::vector<std::unique_ptr<Sequence>> sequences;
  Batch batch(model.shared_from_this());
  std::vector<Pair> pairs;
  for (size_t i = 0; i < kSequences; ++i) {
    Pair pair;
    sequences.push_back(model.new_sequence());
    pair.together = sequences.back().get();
    EXPECT_EQ(pair.together->position(), 0);
    EXPECT_EQ(&pair.together->model(), &model);
    for (size_t k = 0; k < length; ++k) {
      pair.ids.push_back(
          static_cast<int32_t>(random() % static_cast<uint32_t>(model.vocab_size())));
    }
    other->reset();
    for (const int32_t id : pair.ids) {
      const auto row = other->decode(id);
      pair.alone.insert(pair.alone.end(), row.begin(), row.end());
    }
    pairs.push_back(std::move(pair));
  }
  const auto prefill = [&](size_t i, size_t count) {
    Pair& pair = pairs[i];
    const auto row = pair.together->prefill(std::span(pair.ids).subspan(pair.done, count));
    pair.done += count;
    expect_row(row, pair, tolerance);
  };
  const auto step = [&](const std::vector<size_t>& members) {
    batch.clear();
    for (const size_t i : members) batch.add(*pairs[i].together, pairs[i].ids[pairs[i].done]);
    batch.run();
    ASSERT_EQ(batch.size(), members.size());
    for (size_t k = 0; k < members.size(); ++k) {
      Pair& pair = pairs[members[k]];
      ++pair.done;
      EXPECT_EQ(pair.together->position(), static_cast<int64_t>(pair.done));
      expect_row(batch.logits(k), pair, tolerance);
    }
  };
  prefill(0, 3);
  step({0});
  prefill(1, 7);
  step({0, 1});
  step({1, 0});
  prefill(3, 1);
  prefill(4, 9);
  for (int i = 0; i < 4; ++i) step({0, 1, 2, 3, 4});  // sequence 2 begins here
  step({4, 2});
  prefill(1, 2);
  // One leaves and another begins in its place.
  sequences[1]->reset();
  pairs[1].done = 0;
  step({1, 3, 0});
  for (int i = 0; i < 3; ++i) step({0, 2, 1, 4});
  // A new sequence in place of a destroyed one.
  sequences[3].reset();
  sequences[3] = model.new_sequence();
  pairs[3].together = sequences[3].get();
  pairs[3].done = 0;
  for (int i = 0; i < 3; ++i) step({3, 4, 2, 1, 0});

  batch.clear();
  batch.add(*pairs[0].together, 1);
  EXPECT_ERROR(batch.add(*pairs[0].together, 1), ErrorCode::InvalidArgument,
               "sequences 0 and 1 of the batch are one and the same");
  EXPECT_ERROR(batch.add(*pairs[1].together, static_cast<int32_t>(model.vocab_size())),
               ErrorCode::InvalidArgument, "is not in the model's vocabulary of");
  EXPECT_ERROR(batch.add(*pairs[1].together, Ids()), ErrorCode::InvalidArgument,
               "no tokens to feed to the model");
  EXPECT_ERROR(batch.add(*other, 1), ErrorCode::InvalidArgument,
               "sequence 1 of the batch is another model's");
  step({0, 1});
  EXPECT_ERROR(batch.run(), ErrorCode::InvalidArgument, "the batch has run");
  step({});
}

runtime::RunnableModel open(const fs::path& path, LoadOptions options = {}) {
  if (options.threads == 0) options.threads = 2;
  return runtime::make_runnable(runtime::find_packages(path), options);
}

void expect_together(const fs::path& path, float tolerance, const LoadOptions& options = {}) {
  const auto model = open(path, options), other = open(path, options);
  expect_together(*model.model, *other.model, tolerance);
}

TEST(SequencesTogether, StatefulFolder) {
  PIPPIN_SHARED_OR_SKIP(folder, "architectures/llama_gqa_llama3_tied");
  for (const int threads : {1, 2, 3}) {
    LoadOptions options;
    options.threads = threads;
    const auto model = runtime::make_runnable(models::build(folder), options);
    const auto other = runtime::make_runnable(models::build(folder), options);
    expect_together(*model.model, *other.model, kTolerance);
  }
}

TEST(SequencesTogether, StatefulPackageInEveryPrecision) {
  PIPPIN_SHARED_OR_SKIP(folder, "architectures/llama_gqa_llama3_tied");
  TempDir temp;
  const fs::path package = temp / "m.mlpackage";
  mil::write_package(models::build(folder, {.context = 64}), package);
  for (const auto precision : {engine::Precision::Fast, engine::Precision::Exact}) {
    LoadOptions options;
    options.compute.precision = precision;
    expect_together(package, kTolerance, options);
  }
}

// A fixed number of tokens per run leaves no room for other sequences: they run one after another.
TEST(SequencesTogether, StatefulOfFixedLength) {
  PIPPIN_SHARED_OR_SKIP(folder, "architectures/llama_gqa_llama3_tied");
  mil::Model program = models::build(folder, {.context = 32});
  program.functions[0].inputs[0].ranges.clear();
  program.functions[0].inputs[0].shape = {1, 8};
  mil::Model same = models::build(folder, {.context = 32});
  same.functions[0].inputs[0] = program.functions[0].inputs[0];
  const auto model = runtime::make_runnable(std::move(program), {.threads = 2});
  const auto other = runtime::make_runnable(std::move(same), {.threads = 2});
  expect_together(*model.model, *other.model, kTolerance);
}

TEST(SequencesTogether, Anemll) {
  const TempDir folder;
  write_anemll(folder.path());
  expect_together(folder.path(), kTolerance);
  expect_together(folder.path(), kTolerance, {.low_memory = true});
}

// Some sequences are past the window and run other functions than the rest.
TEST(SequencesTogether, AnemllWithAWindow) {
  const TempDir folder;
  write_anemll(folder.path(), {.rotated_offset = 0.5});
  write_text(folder / "meta.yaml",
             "model_info:\n  name: anemll-tiny-ctx32\n  parameters:\n    context_length: 32\n"
             "    batch_size: 4\n    num_chunks: 2\n    model_prefix: tiny\n"
             "    embeddings: tiny_embeddings_lut6\n    lm_head: tiny_lm_head.mlmodelc\n"
             "    ffn: tiny_FFN_PF_lut6\n    sliding_window: 7\n    update_mask_prefill: true\n");
  expect_together(folder.path(), kTolerance);
}

TEST(SequencesTogether, AnemllThatChoosesItself) {
  const TempDir folder;
  write_anemll(folder.path(), {.argmax = true});
  write_text(folder / "meta.yaml",
             "model_info:\n  name: anemll-tiny-ctx32\n  parameters:\n    context_length: 32\n"
             "    batch_size: 4\n    num_chunks: 2\n    model_prefix: tiny\n"
             "    embeddings: tiny_embeddings_lut6\n    lm_head: tiny_lm_head.mlmodelc\n"
             "    ffn: tiny_FFN_PF_lut6\n    lm_head_chunk_sizes: [8, 8, 7]\n");
  expect_together(folder.path(), kTolerance);
  // Each has its own most likely token.
  const auto model = open(folder.path());
  const std::unique_ptr<Sequence> both[] = {model.model->new_sequence(),
                                            model.model->new_sequence()};
  Batch batch(model.model);
  for (const auto& [a, b] : {std::pair(3, 17), {22, 9}, {0, 14}}) {
    batch.clear();
    batch.add(*both[0], a);
    batch.add(*both[1], b);
    batch.run();
    for (size_t i = 0; i < 2; ++i) {
      const auto row = batch.logits(i);
      EXPECT_EQ(both[i]->greedy_token(), std::max_element(row.begin(), row.end()) - row.begin());
    }
  }
}

TEST(SequencesTogether, AnemllOfOnePackage) {
  const TempDir folder;
  PackageMaker maker;
  StepOptions step{.takes_ids = true, .gives_logits = true};
  add_step(maker, "infer", step, 2);
  step.query = 4;
  add_step(maker, "prefill", step, 2);
  maker.write(folder / "m.mlpackage");
  expect_together(folder / "m.mlpackage", kTolerance);
}

void write_parts(const std::vector<models::PackagePart>& parts, const fs::path& folder) {
  for (const auto& part : parts)
    mil::write_package(part.model, folder / (part.stem + ".mlpackage"));
}

TEST(SequencesTogether, AnemllOfACheckpoint) {
  PIPPIN_SHARED_OR_SKIP(source, "architectures/llama_gqa_llama3_tied");
  const TempDir folder;
  const models::Anemll family(source, {.context = 64, .batch = 8});
  std::vector<models::PackagePart> parts;
  parts.push_back(family.embeddings());
  for (int64_t i = 0; i < 2; ++i) parts.push_back(family.chunk(i, 2));
  parts.push_back(family.head());
  write_parts(parts, folder.path());
  write_text(folder / "meta.yaml", family.meta_yaml(2));
  expect_together(folder.path(), kTolerance);
}

TEST(SequencesTogether, WindowedOfEverySize) {
  PIPPIN_SHARED_OR_SKIP(source, "architectures/llama_gqa_llama3_tied");
  // Windows of a few tokens, which combine the rows of all sequences, and one that is too long for
  // that.
  for (const int64_t window : {4, 8, 40}) {
    SCOPED_TRACE(window);
    const TempDir folder;
    models::WindowedOptions options;
    options.window = window;
    options.cache = window == 40 ? 40 : 56;
    write_parts(models::Windowed(source, options).parts(), folder.path());
    expect_together(folder.path(), kTolerance);
    if (window == 8) expect_together(folder.path(), kTolerance, {.low_memory = true});
  }
}

// All precisions agree on the logits, and the reference rounds as specified.
TEST(Precisions, AgreeOnTheLogits) {
  PIPPIN_SHARED_OR_SKIP(folder, "architectures/llama_gqa_llama3_tied");
  const Ids prompt = {1, 103, 107, 61, 78, 32};
  std::vector<std::vector<float>> rows;
  for (const auto precision :
       {engine::Precision::Fast, engine::Precision::Exact, engine::Precision::Reference}) {
    LoadOptions options;
    options.threads = 1;
    options.compute.precision = precision;
    options.context = 16;
    const auto model = runtime::make_runnable(models::build(folder, {.context = 16}), options);
    const auto sequence = model.model->new_sequence();
    sequence->prefill(std::span(prompt).first(4));
    sequence->decode(prompt[4]);
    const auto row = sequence->decode(prompt[5]);
    rows.emplace_back(row.begin(), row.end());
  }
  const float size = largest(rows[2]);
  for (size_t i = 0; i < rows[0].size(); ++i) {
    ASSERT_NEAR(rows[0][i], rows[2][i], 0.02F * size);
    ASSERT_NEAR(rows[1][i], rows[2][i], 0.02F * size);
  }
  EXPECT_NE(rows[1], rows[2]);  // every result is rounded to its type
}

}  // namespace
}  // namespace pippin
