// Embedding models and cross-encoders against Hugging Face's and sentence-transformers' own
// outputs: tiny random checkpoints, from the folder in fp32 and from the converted package in fp16.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/base/output.h"
#include "pippin/base/testing.h"
#include "pippin/base/thread_pool.h"
#include "pippin/engine/runner.h"
#include "pippin/families/encoder.h"
#include "pippin/io/npz.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/encoder_model.h"
#include "pippin/nn/pooling.h"

namespace pippin {
namespace {

namespace family = families::encoder;
using models::BuildOptions;
using models::EncoderBuildOptions;

// Three texts of a folder's golden.npz, filled up to one length.
struct Texts {
  NpzFile golden;
  int64_t rows, length;
  std::vector<int32_t> ids, mask, types;

  explicit Texts(const std::filesystem::path& folder)
      : golden(NpzFile::open(folder / "golden.npz")) {
    const NpyArray all = golden.read("input_ids");
    rows = static_cast<int64_t>(all.shape.at(0));
    length = static_cast<int64_t>(all.shape.at(1));
    ids = ints("input_ids");
    mask = ints("attention_mask");
    types = golden.contains("token_type_ids") ? ints("token_type_ids")
                                              : std::vector<int32_t>(ids.size());
  }
  std::vector<int32_t> ints(const std::string& name) const {
    const NpyArray array = golden.read(name);
    return {array.as<int32_t>().begin(), array.as<int32_t>().end()};
  }
  std::vector<double> doubles(const std::string& name) const {
    return golden.read(name).to_doubles();
  }
};

engine::HostTensor tensor(const std::vector<int32_t>& values, int64_t rows, int64_t length) {
  engine::HostTensor result{mil::DataType::Int32, {rows, length}, {}, {}, {}, {}};
  result.bytes.resize(values.size() * sizeof(int32_t));
  std::memcpy(result.bytes.data(), values.data(), result.bytes.size());
  return result;
}

class RunningEncoder {
 public:
  explicit RunningEncoder(const mil::Model& model, engine::Precision precision = {})
      : model_(model),
        pool_(1),
        runner_(engine::Runner::make(model, "main", pool_, {.compute = {.precision = precision}})),
        state_(std::vector<mil::Feature>{}) {}

  std::vector<double> run(const Texts& texts, const std::string& output) {
    return run(texts, 0, texts.rows, 0, texts.length, output);
  }
  // Rows [first, first + count) of the texts, of each the columns [from, to).
  std::vector<double> run(const Texts& texts, int64_t first, int64_t count, int64_t from,
                          int64_t to, const std::string& output) {
    engine::NamedHostTensors inputs;
    for (const mil::Feature& feature : model_.functions.front().inputs) {
      const auto& all = feature.name == family::kIds          ? texts.ids
                        : feature.name == family::kTokenTypes ? texts.types
                                                              : texts.mask;
      std::vector<int32_t> part;
      for (int64_t row = first; row < first + count; ++row) {
        const auto begin = all.begin() + row * texts.length;
        part.insert(part.end(), begin + from, begin + to);
      }
      inputs.emplace(feature.name, tensor(part, count, to - from));
    }
    return engine::to_tensor(runner_->run(inputs, state_).find(output)->second).values;
  }

 private:
  const mil::Model& model_;
  ThreadPool pool_;
  std::unique_ptr<engine::Runner> runner_;
  engine::State state_;
};

double cosine(const double* a, const double* b, size_t size) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < size; ++i) {
    ab += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return ab / std::sqrt(aa * bb);
}

// The largest difference of values at tokens; what fills up a row means nothing.
double difference_at_tokens(const Texts& texts, const std::vector<double>& values,
                            const std::vector<double>& expected) {
  const size_t width = expected.size() / texts.ids.size();
  double worst = 0;
  for (size_t token = 0; token < texts.ids.size(); ++token) {
    if (texts.mask[token] == 0) continue;
    for (size_t i = token * width; i < (token + 1) * width; ++i) {
      worst = std::max(worst, std::abs(values[i] - expected[i]));
    }
  }
  return worst;
}

double difference(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double worst = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    worst = std::max(worst, std::abs(a[i] - b[i]));
  }
  return worst;
}

// Where a text's tokens begin and end in its row.
std::pair<int64_t, int64_t> tokens_of(const Texts& texts, int64_t row) {
  const auto begin = texts.mask.begin() + row * texts.length, end = begin + texts.length;
  const auto first = std::find(begin, end, 1);
  const auto last = std::find(first, end, 0);
  return {first - begin, last - begin};
}

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
    // Each text by itself, without what fills up its row.
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

// Every way of pooling against the obvious loops, with tokens on the left, on the right, and one
// alone.
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
  const nn::PoolingOptions all{true, true, true, true, true, true};
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
