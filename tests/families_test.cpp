// Compares the families `anemll` and `windowed` of every dense architecture with Hugging Face's own
// logits. They run with the engine by the families' loops.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/error_testing.h"
#include "pippin/base/testing.h"
#include "pippin/io/json.h"
#include "pippin/io/npz.h"
#include "pippin/mil/check/verify.h"
#include "pippin/models/family/anemll.h"
#include "pippin/models/family/windowed.h"
#include "tests/families_testing.h"

namespace pippin {
namespace {

struct Golden {
  std::vector<int32_t> prompt;
  std::vector<double> logits;
  double largest = 0;

  explicit Golden(const std::filesystem::path& folder) {
    const NpzFile npz = NpzFile::open(folder / "golden.npz");
    const NpyArray ids = npz.read("input_ids");
    prompt.assign(ids.as<int32_t>().begin(), ids.as<int32_t>().end());
    logits = npz.read("logits").to_doubles();
    for (const double logit : logits) largest = std::max(largest, std::abs(logit));
  }
  // The largest difference of a row of logits, relative to the largest logit.
  double error(size_t row, const std::vector<double>& actual) const {
    const size_t width = logits.size() / prompt.size();
    if (actual.size() != width) return std::numeric_limits<double>::infinity();
    double worst = 0;
    for (size_t i = 0; i < width; ++i) {
      const double difference = std::abs(actual[i] - logits[row * width + i]);
      if (!(difference <= worst)) worst = difference;
    }
    return worst / largest;
  }
};

std::vector<const mil::Model*> models_of(const std::vector<models::PackagePart>& parts) {
  std::vector<const mil::Model*> result;
  for (const auto& part : parts) {
    mil::verify(part.model.program);
    result.push_back(&part.model);
  }
  return result;
}

std::vector<models::PackagePart> anemll_parts(const std::filesystem::path& folder,
                                              const models::AnemllOptions& options,
                                              int64_t chunks) {
  const models::Anemll family(folder, options);
  std::vector<models::PackagePart> parts;
  parts.push_back(family.embeddings());
  for (int64_t i = 0; i < chunks; ++i) parts.push_back(family.chunk(i, chunks));
  parts.push_back(family.head());
  return parts;
}

int64_t window_of(const std::filesystem::path& folder) {
  const auto window = Json::load(folder / "config.json").find("sliding_window");
  return window && !window->is_null() ? window->as_int() : 0;
}

constexpr double kTolerance = 2e-2;

// Goldens whose prompt passes the length at which frequencies change are left out: their results
// depend on how many tokens are fed at once.
class Families : public testing::TestWithParam<std::string> {};

// Token by token: the largest error.
double anemll_error(const std::filesystem::path& folder, const Golden& golden) {
  const auto parts = anemll_parts(folder, {.context = 128}, 2);
  AnemllRun run(models_of(parts));
  double worst = 0;
  for (size_t i = 0; i < golden.prompt.size(); ++i) {
    worst = std::max(worst, golden.error(i, run.infer(golden.prompt[i], static_cast<int64_t>(i))));
  }
  return worst;
}

// The same with full batches, then the rest token by token.
double anemll_batch_error(const std::filesystem::path& folder, const Golden& golden) {
  // There are also windows of 14 and 10.
  const bool fours = window_of(folder) % 4 == 0;
  const int64_t size = fours ? 4 : window_of(folder) / 2;
  const auto batch = static_cast<size_t>(size);
  const auto parts = anemll_parts(folder, {.context = 128, .batch = size}, 1);
  AnemllRun run(models_of(parts));
  size_t done = 0;
  for (; done + batch < golden.prompt.size(); done += batch) {
    run.prefill(std::span(golden.prompt).subspan(done, batch), static_cast<int64_t>(done));
  }
  double worst = 0;
  for (size_t i = done; i < golden.prompt.size(); ++i) {
    worst = std::max(worst, golden.error(i, run.infer(golden.prompt[i], static_cast<int64_t>(i))));
  }
  return worst;
}

TEST_P(Families, Anemll) {
  PIPPIN_SHARED_OR_SKIP(folder, "architectures/" + GetParam());
  const Golden golden(folder);
  const double single = anemll_error(folder, golden), batches = anemll_batch_error(folder, golden);
  RecordProperty("error", std::to_string(std::max(single, batches)));
  EXPECT_LE(single, kTolerance);
  EXPECT_LE(batches, kTolerance);
}

TEST_P(Families, Windowed) {
  if (GetParam() == "openelm") GTEST_SKIP() << "layers of different heads: refused";
  PIPPIN_SHARED_OR_SKIP(folder, "architectures/" + GetParam());
  const Golden golden(folder);
  models::WindowedOptions options;
  options.context = 128;
  options.window = 16;
  options.cache = 96;
  const auto parts = models::Windowed(folder, options).parts();
  WindowedRun run(models_of(parts));
  double worst = 0;
  // Full windows, then the last tokens one by one.
  const size_t length = golden.prompt.size(), whole = (length - 1) / 16 * 16;
  for (size_t end = 16; end <= length; end += end < whole    ? 16
                                              : end == whole ? length - whole - 2
                                                             : 1) {
    const auto rows = run.step(std::span(golden.prompt).first(end));
    for (size_t row = 0; row < rows.size(); ++row) {
      worst = std::max(worst, golden.error(end - rows.size() + row, rows[row]));
    }
  }
  RecordProperty("error", std::to_string(worst));
  EXPECT_LE(worst, kTolerance);
}

INSTANTIATE_TEST_SUITE_P(
    Models, Families,
    testing::Values("llama_mha", "llama_gqa_llama3_tied", "llama_bias_linear", "llama_headdim",
                    "llama_yarn", "llama_f16", "llama_sharded_bf16", "llama_bin_npz", "mistral_sw",
                    "mistral_nosw_headdim", "qwen2", "qwen2_sw", "qwen2_tied_layertypes", "qwen3",
                    "qwen3_bias_sw", "gemma", "gemma_hubact", "gemma_tanh_bf16", "gemma2",
                    "gemma2_real_caps", "gemma3", "gemma3_ropescale", "gemma3_default_pattern",
                    "phi", "phi_gqa_qkln", "phi3_sw", "phi3_longrope_short", "phi3_longrope_cross",
                    "smollm3", "smollm3_list", "olmo", "olmo2", "olmo3", "granite", "starcoder2",
                    "stablelm", "stablelm_parallel", "gpt2", "gpt2_hubstyle", "gpt_neox",
                    "gpt_neox_serial", "gptj", "gpt_bigcode", "falcon7", "falcon_new", "falcon_11b",
                    "falcon_rw_alibi", "cohere", "cohere_qknorm", "cohere2", "openelm", "glm",
                    "glm4", "exaone", "exaone4", "nemotron", "hunyuan_v1_dense", "ernie4_5",
                    "internlm2", "minicpm", "opt", "bloom", "mpt"),
    [](const auto& instance) { return instance.param; });

// Tokens further back than the cache are forgotten, and positions continue: the same as with a mask
// that hides them.
TEST(Families, WindowedForgetsTheOldest) {
  PIPPIN_SHARED_OR_SKIP(folder, "architectures/llama_gqa_llama3_tied");
  const Golden golden(folder);
  const auto length = static_cast<int64_t>(golden.prompt.size());
  models::WindowedOptions options;
  options.window = 16;
  options.cache = 32;
  const auto parts = models::Windowed(folder, options).parts();
  WindowedRun run(models_of(parts));
  const mil::Model stateful = models::build(folder);
  mil::Tensor mask(mil::DataType::Float16, {1, 1, length, length});
  for (int64_t query = 0; query < length; ++query) {
    for (int64_t key = 0; key < length; ++key) {
      const bool seen = key <= query && key >= query / 16 * 16 - 32;
      if (!seen) {
        mask.values[static_cast<size_t>(query * length + key)] =
            -std::numeric_limits<double>::infinity();
      }
    }
  }
  engine::State state(stateful.functions.at(0).states);
  PackageRunners runners({&stateful});
  const mil::Tensor expected = to_tensor(runners
                                             .run(0, "main",
                                                  {{"inputIds", ints({1, length}, golden.prompt)},
                                                   {"causalMask", engine::to_host(mask)}},
                                                  state)
                                             .at("logits"));
  double worst = 0, forgotten = 0;
  const auto width = static_cast<size_t>(expected.shape.at(2));
  for (int64_t end = 16; end <= length; end += 16) {
    const auto rows = run.step(std::span(golden.prompt).first(static_cast<size_t>(end)));
    for (size_t row = 0; row < rows.size(); ++row) {
      const size_t token = static_cast<size_t>(end) - rows.size() + row;
      forgotten = std::max(forgotten, golden.error(token, rows[row]));
      for (size_t i = 0; i < width; ++i) {
        worst = std::max(worst, std::abs(rows[row][i] - expected.values[token * width + i]));
      }
    }
  }
  EXPECT_LE(worst, kTolerance * golden.largest);
  EXPECT_GT(forgotten, 0.1);  // forgetting changes the result
  EXPECT_EQ(length % 16, 0);
}

size_t argmax(const std::vector<double>& logits) {
  return static_cast<size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

// Trained models: compares the golden continuation, token by token, over several windows.
class TrainedModel : public testing::TestWithParam<std::string> {};

TEST_P(TrainedModel, SameTextFromEachFamily) {
  PIPPIN_SHARED_OR_SKIP(folder, "models/" + GetParam());
  constexpr size_t kTokens = 60;
  const auto anemll = anemll_parts(folder, {.batch = 4}, 2);
  models::WindowedOptions options;
  options.blocks_per_chunk = 2;
  options.window = 16;
  options.cache = 112;
  const auto windowed = models::Windowed(folder, options).parts();
  const auto anemll_models = models_of(anemll), windowed_models = models_of(windowed);
  const Json golden = Json::load(folder / "golden" / "golden.json");
  for (const size_t index : {5, 9}) {
    const Json one = golden.at("cases").at(index);
    SCOPED_TRACE(one.get_string("prompt"));
    const std::vector<int64_t> prompt = one.get_ints("prompt_ids");
    std::vector<int64_t> expected = one.get_ints("greedy_ids");
    expected.resize(std::min(expected.size(), kTokens));
    std::vector<int32_t> ids(prompt.begin(), prompt.end());

    AnemllRun chunks(anemll_models);
    size_t done = 0;
    for (; done + 4 < ids.size(); done += 4) {
      chunks.prefill(std::span(ids).subspan(done, 4), static_cast<int64_t>(done));
    }
    std::vector<int64_t> text;
    while (text.size() < expected.size()) {
      std::vector<double> logits;
      for (; done < ids.size(); ++done)
        logits = chunks.infer(ids[done], static_cast<int64_t>(done));
      text.push_back(static_cast<int64_t>(argmax(logits)));
      ids.push_back(static_cast<int32_t>(text.back()));
    }
    EXPECT_EQ(text, expected);

    ids.assign(prompt.begin(), prompt.end());
    WindowedRun windows(windowed_models);
    text.clear();
    const auto window = static_cast<size_t>(windows.window());
    for (size_t end = window; end < ids.size(); end += window) {
      windows.step(std::span(ids).first(end));
    }
    while (text.size() < expected.size()) {
      const auto rows = windows.step(ids);
      text.push_back(static_cast<int64_t>(argmax(rows.back())));
      EXPECT_EQ(windows.argmax(static_cast<int64_t>(rows.size()) - 1), text.back());
      ids.push_back(static_cast<int32_t>(text.back()));
    }
    EXPECT_EQ(text, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TrainedModel, testing::Values("stories260K", "babyllama-tok105"));

// The head returns the best token of each part, with an index within the part.
TEST(Families, ArgmaxInModel) {
  PIPPIN_SHARED_OR_SKIP(folder, "architectures/phi_gqa_qkln");
  const auto plain = anemll_parts(folder, {.context = 32}, 1);
  const auto best = anemll_parts(folder, {.context = 32, .argmax_in_model = true}, 1);
  const models::Anemll family(folder, {.context = 32});
  PackageRunners runners({&plain.back().model, &best.back().model});
  engine::State none({});
  const int64_t width = family.description().decoder.hidden_size;
  mil::Tensor hidden(mil::DataType::Float16, {1, 1, width});
  for (int64_t i = 0; i < width; ++i) {
    hidden.values[static_cast<size_t>(i)] = std::sin(static_cast<double>(i));
  }
  const engine::NamedHostTensors input = {{"hidden_states", engine::to_host(hidden)}};
  const auto logits = runners.run(0, "main", input, none);
  const auto result = runners.run(1, "main", input, none);
  const mil::Tensor indices = to_tensor(result.at("argmax_idx"));
  const mil::Tensor values = to_tensor(result.at("argmax_val"));
  ASSERT_EQ(indices.shape, std::vector<int64_t>{8});
  ASSERT_EQ(indices.type, mil::DataType::Int32);
  ASSERT_EQ(values.shape, std::vector<int64_t>{8});
  for (size_t part = 0; part < 8; ++part) {
    const auto row = to_tensor(logits.at("logits" + std::to_string(part + 1))).values;
    EXPECT_EQ(static_cast<size_t>(indices.values[part]), argmax(row));
    EXPECT_EQ(values.values[part], row[argmax(row)]);
  }
}

TEST(Families, WhatAFamilyCannotHoldIsRefused) {
  PIPPIN_SHARED_OR_SKIP(uneven, "architectures/openelm");
  PIPPIN_SHARED_OR_SKIP(gemma, "architectures/gemma3");
  const auto error_of = [](const auto& make) { return thrown_message([&] { make(); }); };
  EXPECT_THAT(error_of([&] { models::Windowed(uneven, {}); }),
              testing::HasSubstr("one cache processor"));
  EXPECT_THAT(error_of([&] { models::Anemll(gemma, {.context = 64, .batch = 7}); }),
              testing::HasSubstr("has to divide the model's sliding window"));
}

}  // namespace
}  // namespace pippin
