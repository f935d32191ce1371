// Compares embedding models and cross-encoders with Hugging Face's and sentence-transformers' own
// outputs: tiny random checkpoints, from the folder in fp32 and from the converted package in fp16.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/runner.h"
#include "pippin/families/encoder.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/encoders/encoder_model.h"
#include "pippin/nn/attention/pooling.h"
#include "tests/encoder_testing.h"

namespace pippin {
namespace {

namespace family = families::encoder;
using models::BuildOptions;

using testing_encoders::cosine;
using testing_encoders::difference;
using testing_encoders::difference_at_tokens;
using testing_encoders::RunningEncoder;
using testing_encoders::tensor;
using testing_encoders::Texts;
using testing_encoders::tokens_of;

class Embeddings : public testing::TestWithParam<const char*> {};

TEST_P(Embeddings, FolderInFloat32) {
  PIPPIN_SHARED_OR_SKIP(folder, std::string("architectures2/") + GetParam());
  const Texts texts(folder);
  const mil::Model model =
      models::build_encoder(folder, {.compute = BuildOptions::Compute::Float32Direct});
  mil::verify(model.program);
  const std::vector<double> states = texts.doubles("last_hidden_state"),
                            embeddings = texts.doubles("sentence_embedding");
  for (const auto precision : {engine::Precision::Fast, engine::Precision::Reference}) {
    RunningEncoder encoder(model, precision);
    const auto all = encoder.run(texts, family::kStates);
    EXPECT_LE(difference_at_tokens(texts, all, states), 2e-5);
    const auto pooled = encoder.run(texts, family::kEmbedding);
    EXPECT_LE(difference(pooled, embeddings), 1e-5);
    // Each text by itself, without padding.
    for (int64_t row = 0; row < texts.rows; ++row) {
      const auto [begin, end] = tokens_of(texts, row);
      const auto one = encoder.run(texts, row, 1, begin, end, family::kEmbedding);
      const std::vector<double> expected(embeddings.begin() + row * std::ssize(one),
                                         embeddings.begin() + (row + 1) * std::ssize(one));
      EXPECT_LE(difference(one, expected), 1e-5) << "text " << row;
    }
  }
}

TEST_P(Embeddings, PackageInFloat16) {
  PIPPIN_SHARED_OR_SKIP(folder, std::string("architectures2/") + GetParam());
  const Texts texts(folder);
  const TempDir out;
  mil::write_package(models::build_encoder(folder), out / "model.mlpackage");
  const mil::Model model = mil::read_package(out / "model.mlpackage");
  RunningEncoder encoder(model);
  const auto pooled = encoder.run(texts, family::kEmbedding);
  const std::vector<double> expected = texts.doubles("sentence_embedding");
  ASSERT_EQ(pooled.size(), expected.size());
  const size_t width = expected.size() / static_cast<size_t>(texts.rows);
  for (size_t row = 0; row < static_cast<size_t>(texts.rows); ++row) {
    EXPECT_GE(cosine(&pooled[row * width], &expected[row * width], width), 0.9999);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Embeddings,
                         testing::Values("albert_mean", "bert_cls", "bert_mean", "distilbert_mean",
                                         "electra_cls", "gemma3_embed", "modernbert_cls",
                                         "mpnet_mean", "nomic_bert_mean", "qwen3_lasttoken",
                                         "roberta_mean", "t5_encoder_mean", "xlm_roberta_mean"));

// As in transformers 5, whose configuration uses BERT's names for the sizes.
TEST(Encoders, NomicBertOfTransformers5) {
  PIPPIN_SHARED_OR_SKIP(folder, "models2026/enc/nomic_bert_hf");
  const Texts texts(folder);
  const mil::Model model =
      models::build_encoder(folder, {.compute = BuildOptions::Compute::Float32Direct});
  RunningEncoder encoder(model);
  EXPECT_LE(difference_at_tokens(texts, encoder.run(texts, family::kStates),
                                 texts.doubles("last_hidden_state")),
            2e-5);
}

// Compares every kind of pooling with simple loops, for tokens on the left, on the right, and a
// single token.
TEST(Pooling, SixWays) {
  constexpr int64_t kRows = 3, kLength = 5, kWidth = 4;
  const std::vector<int32_t> mask = {1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 1, 0, 0, 0};
  std::mt19937 random(1);
  std::normal_distribution<double> normal(0, 100);
  std::vector<double> states(kRows * kLength * kWidth);
  for (double& x : states) x = static_cast<float>(normal(random));

  array::Builder builder;
  const auto x = array::constant(mil::DataType::Float32, {kRows, kLength, kWidth}, states);
  const auto tokens = builder.input("mask", mil::DataType::Int32, {kRows, kLength});
  using nn::Pooling;
  const nn::PoolingOptions all{Pooling::First,    Pooling::Max,          Pooling::Mean,
                               Pooling::MeanSqrt, Pooling::WeightedMean, Pooling::Last};
  builder.output("pooled", nn::pool(all, x, tokens));
  mil::Model model;
  model.program.functions.emplace("main", builder.build());
  mil::FunctionDescription& function = model.functions.emplace_back();
  function.name = "main";
  mil::Feature& input = function.inputs.emplace_back();
  input.name = "mask";
  input.data_type = mil::DataType::Int32;
  input.shape = {kRows, kLength};
  function.outputs.emplace_back().name = "pooled";
  ThreadPool pool(1);
  engine::State state(std::vector<mil::Feature>{});
  const auto runner = engine::Runner::make(model, "main", pool);
  engine::NamedHostTensors inputs;
  inputs.emplace("mask", tensor(mask, kRows, kLength));
  const auto pooled = engine::to_tensor(runner->run(inputs, state).find("pooled")->second).values;
  ASSERT_EQ(pooled.size(), static_cast<size_t>(kRows * kWidth * 6));

  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t i = 0; i < kWidth; ++i) {
      double most = -1e30, sum = 0, weighted = 0, weights = 0, count = 0, last = 0;
      for (int64_t t = 0; t < kLength; ++t) {
        if (mask[static_cast<size_t>(row * kLength + t)] == 0) continue;
        last = states[static_cast<size_t>((row * kLength + t) * kWidth + i)];
        most = std::max(most, last);
        sum += last;
        count += 1;
        weighted += last * static_cast<double>(t + 1);
        weights += static_cast<double>(t + 1);
      }
      const double first = states[static_cast<size_t>(row * kLength * kWidth + i)];
      const double expected[] = {
          first, most, sum / count, sum / std::sqrt(count), weighted / weights, last};
      for (int64_t way = 0; way < 6; ++way) {
        EXPECT_NEAR(pooled[static_cast<size_t>((row * 6 + way) * kWidth + i)], expected[way], 1e-3)
            << "row " << row << ", way " << way;
      }
    }
  }
}

class CrossEncoders : public testing::TestWithParam<const char*> {};

TEST_P(CrossEncoders, GivesTheLogits) {
  PIPPIN_SHARED_OR_SKIP(folder, std::string("architectures2/") + GetParam());
  const Texts texts(folder);
  const std::vector<double> expected = texts.doubles("logits");
  const mil::Model direct =
      models::build_encoder(folder, {.compute = BuildOptions::Compute::Float32Direct});
  mil::verify(direct.program);
  for (const auto precision : {engine::Precision::Fast, engine::Precision::Reference}) {
    RunningEncoder encoder(direct, precision);
    EXPECT_LE(difference(encoder.run(texts, family::kLogits), expected), 1e-5);
  }
  const TempDir out;
  mil::write_package(models::build_encoder(folder), out / "model.mlpackage");
  const mil::Model package = mil::read_package(out / "model.mlpackage");
  RunningEncoder half(package);
  EXPECT_LE(difference(half.run(texts, family::kLogits), expected), 5e-3);
}

INSTANTIATE_TEST_SUITE_P(Models, CrossEncoders,
                         testing::Values("bert_cross", "deberta_v2_cross", "xlm_roberta_cross"));

}  // namespace
}  // namespace pippin
