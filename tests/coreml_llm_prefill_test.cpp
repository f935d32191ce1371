// Prompts in batches, by packages of CoreML-LLM's bundles, compared with those token by token.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/runtime/load_options.h"
#include "pippin/runtime/row_ids.h"
#include "pippin/runtime/vision_prompt.h"
#include "tests/coreml_llm_fixture.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using runtime::PrefillMode;
using testing_models::BundleLayout;
using testing_models::kBundleContext;
using testing_models::kBundleWindow;
using namespace testing_coreml_llm;

runtime::LoadedModel open_with(const fs::path& path, PrefillMode mode) {
  app::ModelChoice choice;
  choice.path = path.string();
  choice.load.threads = 1;
  choice.load.prefill = mode;
  return app::open_model(choice);
}

class CoreMlLlmPrefill : public CoreMlLlm {
 protected:
  fs::path write_with_batches(const char* name, BundleLayout layout, int64_t tokens) {
    const fs::path bundle = write(name, layout);
    const bool four = layout == BundleLayout::Four;
    testing_models::write_bundle_prefill(folder_ / "checkpoint", four ? bundle : bundle / "prefill",
                                         four ? "prefill_chunk" : "chunk", tokens);
    return bundle;
  }
};

// Prompts shorter than a batch, as long, longer than a window; then tokens one by one.
TEST_F(CoreMlLlmPrefill, GivesTheTokensOfSteps) {
  constexpr float kTolerance = 0.15F;
  const auto source = open(folder_ / "checkpoint");
  const auto bundles = {write_with_batches("four", BundleLayout::Four, kBundleWindow + 3),
                        write_with_batches("three", BundleLayout::Three, kBundleWindow - 2)};
  std::mt19937 random(3);
  for (const fs::path& bundle : bundles) {
    const auto model = open_with(bundle, PrefillMode::Batches);
    for (int64_t length = 1; length < kBundleWindow + 6; ++length) {
      SCOPED_TRACE(bundle.filename().string() + " " + std::to_string(length));
      const auto one = source.model->new_sequence(), other = model.model->new_sequence();
      Ids prompt;
      for (int64_t i = 0; i < length; ++i) prompt.push_back(static_cast<int32_t>(random() % 37));
      const auto expect_equal = [&](std::span<const float> wanted, std::span<const float> found) {
        const auto best = static_cast<size_t>(best_of(found));
        EXPECT_GE(wanted[best], wanted[static_cast<size_t>(best_of(wanted))] - kTolerance);
        EXPECT_NEAR(found[best], wanted[best], kTolerance);
      };
      expect_equal(one->prefill(prompt), other->prefill(prompt));
      for (int i = 0; i < 2 * kBundleWindow; ++i) {
        const auto id = static_cast<int32_t>(random() % 37);
        expect_equal(one->decode(id), other->decode(id));
      }
    }
  }
}

// `auto` takes a batch that is half full; logits tell which way a prompt ran, since they differ by
// rounding.
TEST_F(CoreMlLlmPrefill, IsChosenForLongPrompts) {
  const fs::path bundle = write_with_batches("four", BundleLayout::Four, kBundleWindow);
  const auto logit = [&](PrefillMode mode, const Ids& prompt) {
    const auto model = open_with(bundle, mode);
    const auto sequence = model.model->new_sequence();
    const auto logits = sequence->prefill(prompt);
    return *std::max_element(logits.begin(), logits.end());
  };
  int different = 0;
  for (int32_t first = 0; first < 6; ++first) {
    const Ids brief = {first, 9}, lengthy = {first, 30, 8, 11, 2};
    EXPECT_EQ(logit(PrefillMode::Auto, brief), logit(PrefillMode::Steps, brief));
    EXPECT_EQ(logit(PrefillMode::Auto, lengthy), logit(PrefillMode::Batches, lengthy));
    different += logit(PrefillMode::Batches, lengthy) != logit(PrefillMode::Steps, lengthy) ? 1 : 0;
    different += logit(PrefillMode::Batches, brief) != logit(PrefillMode::Steps, brief) ? 1 : 0;
  }
  EXPECT_GT(different, 0);
}

// Sequences do not share the batch, and one that was cancelled starts again.
TEST_F(CoreMlLlmPrefill, KeepsSequencesApart) {
  const auto model = open_with(write_with_batches("four", BundleLayout::Four, kBundleWindow),
                               PrefillMode::Batches);
  const Ids prompt = {3, 17, 22, 9, 4};
  const auto one = model.model->new_sequence(), other = model.model->new_sequence();
  const Ids expected = continuation(*one, prompt);
  other->prefill(Ids{30, 31, 32, 1});
  one->reset();
  one->prefill(prompt);
  const auto fork = one->fork();
  other->decode(8);
  EXPECT_EQ(continuation(*fork, {expected[0]}), Ids(expected.begin() + 1, expected.end()));
  EXPECT_EQ(continuation(*one, {expected[0]}), Ids(expected.begin() + 1, expected.end()));
}

TEST_F(CoreMlLlmPrefill, TakesRowsOfImages) {
  const fs::path bundle = write_with_batches("four", BundleLayout::Four, kBundleWindow);
  auto rows = std::make_shared<runtime::EmbeddedRows>();
  rows->digest = std::string(64, 'a');
  rows->count = 4;
  rows->width = 32;
  std::mt19937 random(8);
  std::normal_distribution<float> normal;
  for (int i = 0; i < 4 * 32; ++i) rows->values.push_back(normal(random));
  const std::vector<runtime::PromptPiece> prompt = {Ids{5}, rows, Ids{7}};
  std::vector<std::vector<float>> found;
  for (const PrefillMode mode : {PrefillMode::Steps, PrefillMode::Batches}) {
    const auto model = open_with(bundle, mode);
    const auto sequence = model.model->new_sequence();
    sequence->prefill_prompt(prompt);
    for (const int32_t id : {3, 8, 9}) {
      const auto logits = sequence->decode(id);
      found.emplace_back(1, logits[static_cast<size_t>(best_of(logits))]);
    }
  }
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(found[i][0], found[i + 3][0], 0.05);
}

TEST_F(CoreMlLlmPrefill, NamesPackagesThatDoNotFit) {
  const fs::path bundle = write_with_batches("four", BundleLayout::Four, kBundleWindow);
  const auto error_of = [&] { open_with(bundle, PrefillMode::Batches); };
  const auto replace = [&](const fs::path& with, const char* name) {
    fs::remove_all(bundle / name);
    fs::copy(with, bundle / name, fs::copy_options::recursive);
  };
  const fs::path second = folder_ / "second.mlpackage";
  fs::rename(bundle / "prefill_chunk2.mlpackage", second);
  EXPECT_ERROR(error_of(), ErrorCode::NotFound, "the package 'prefill_chunk2' is missing");
  // Without them, prompts run token by token.
  const Ids prompt = {1, 2, 3, 4};
  std::string warnings;
  const auto incomplete = [&] {
    const LogScope log(LogLevel::Warn, [&](LogLevel, std::string_view line) { warnings += line; });
    return open_with(bundle, PrefillMode::Auto);
  }();
  EXPECT_THAT(warnings, testing::HasSubstr("prompts run token by token: "));
  EXPECT_THAT(warnings, testing::HasSubstr("the package 'prefill_chunk2' is missing"));
  const auto stepwise = open_with(bundle, PrefillMode::Steps);
  const auto one = incomplete.model->new_sequence(), other = stepwise.model->new_sequence();
  EXPECT_THAT(one->prefill(prompt), testing::ElementsAreArray(other->prefill(prompt)));
  // Keys of other layers.
  replace(bundle / "prefill_chunk1.mlpackage", "prefill_chunk2.mlpackage");
  EXPECT_ERROR(error_of(), ErrorCode::InvalidFile, "prefill_chunk3.mlpackage: no chunk before it");
  // Another batch in one of the packages.
  testing_models::write_bundle_prefill(folder_ / "checkpoint", bundle / "other", "chunk",
                                       kBundleWindow + 1);
  replace(bundle / "other/chunk2.mlpackage", "prefill_chunk2.mlpackage");
  EXPECT_ERROR(error_of(), ErrorCode::InvalidFile,
               "prefill_chunk2.mlpackage: 'hidden_states' takes 224 elements");
  replace(second, "prefill_chunk2.mlpackage");
  error_of();
  // A package for a single token.
  replace(bundle / "chunk1.mlpackage", "prefill_chunk1.mlpackage");
  EXPECT_ERROR(error_of(), ErrorCode::InvalidFile,
               "prefill_chunk1.mlpackage: 'hidden_states' has 1 tokens, a batch is expected");
}

}  // namespace
}  // namespace pippin
