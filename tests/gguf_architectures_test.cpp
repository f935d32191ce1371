// Every architecture of GGUF files: files as llama.cpp's converter writes them from the golden
// checkpoints, compared with the goldens.
#include "pippin/models/gguf/gguf_architectures.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/app/open/gguf_model.h"
#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/mil/check/verify.h"
#include "pippin/models/encoders/encoder_model.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/sequence.h"
#include "pippin/runtime/stateful/model.h"
#include "tests/encoder_testing.h"
#include "tests/gguf_recipes.h"
#include "tests/golden_testing.h"
#include "tests/reference_logits.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using models::BuildOptions;
using testing_gguf::Recipe;
using testing_models::Golden;

std::vector<std::string> recipes() {
  std::vector<std::string> names;
  for (const fs::path& file : shared_entries("gguf-recipes")) names.push_back(file.stem().string());
  return names;
}

// A sequence with the model that it refers to.
struct Running {
  explicit Running(const fs::path& folder)
      : model(models::build(folder, {.compute = BuildOptions::Compute::Float32Direct})) {
    mil::verify(model.program);
    const runtime::LoadOptions options = {.compute = {.precision = engine::Precision::Exact}};
    sequence = runtime::make_stateful_model(model, pool, options)->new_sequence();
  }

  ThreadPool pool{1};
  mil::Model model;
  std::unique_ptr<runtime::Sequence> sequence;
};

// States of an encoder are compared, logits of a decoder.
void expect_states(const fs::path& folder, const fs::path& gguf) {
  const testing_encoders::Texts texts(folder);
  const mil::Model model = models::build_encoder(app::gguf_folder(gguf),
                                                 {.compute = BuildOptions::Compute::Float32Direct});
  const auto states = testing_encoders::RunningEncoder(model, engine::Precision::Exact)
                          .run(texts, families::encoder::kStates);
  const auto expected = texts.doubles("last_hidden_state");
  EXPECT_LE(testing_encoders::difference_at_tokens(texts, states, expected), 2e-5);
}

// The number of tokens with logits that differ by more than `allowed`.
size_t tokens_beyond(double allowed, std::span<const float> logits, const Golden& golden) {
  const size_t width = logits.size() / golden.prompt.size();
  size_t beyond = 0;
  for (size_t i = 0; i < golden.prompt.size(); ++i) {
    const double difference = max_difference(logits.subspan(i * width, width),
                                             std::span(golden.logits).subspan(i * width, width));
    if (difference > allowed) ++beyond;
  }
  return beyond;
}

class GgufArchitectures : public testing::TestWithParam<std::string> {};

TEST_P(GgufArchitectures, HaveTheGoldensLogits) {
  PIPPIN_SHARED_OR_SKIP(file, "gguf-recipes/" + GetParam() + ".json");
  const Recipe recipe(file);
  PIPPIN_SHARED_OR_SKIP(folder, recipe.golden());
  const TempDir dir;
  recipe.write(folder, dir / "m.gguf");
  if (NpzFile::open(folder / "golden.npz").contains("last_hidden_state")) {
    return expect_states(folder, dir / "m.gguf");
  }
  const Golden golden(folder);
  const Running running(app::gguf_folder(dir / "m.gguf"));
  runtime::Sequence* const sequence = running.sequence.get();
  const double allowed = 1e-3 * golden.largest_logit();
  const auto all = sequence->all_logits(golden.prompt);
  if (recipe.has_overrides()) {
    recipe.write_checkpoint(folder, dir / "checkpoint");
    const auto changed = Running(dir / "checkpoint").sequence->all_logits(golden.prompt);
    const std::vector<double> expected(changed.begin(), changed.end());
    EXPECT_LE(max_difference(all, expected), allowed);
    return;
  }
  // Where two experts are equally likely, the order of the CPU's sums chooses.
  const size_t chosen_otherwise =
      Json::load(folder / "config.json", kPythonJson).has("n_routed_experts") ? 1 : 0;
  EXPECT_LE(tokens_beyond(allowed, all, golden), chosen_otherwise);
  sequence->reset();
  std::span<const float> logits = sequence->prefill(golden.prompt);
  for (size_t i = 0; i < golden.generated.size(); ++i) {
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    ASSERT_EQ(best, golden.generated[i]) << "token " << i;
    if (i + 1 < golden.generated.size()) logits = sequence->decode(golden.generated[i]);
  }
}

TEST(GgufRecipes, AreThere) {
  PIPPIN_SHARED_ENTRIES_OR_SKIP(files, "gguf-recipes");
  EXPECT_GT(files.size(), 90U);
}

TEST(GgufRecipes, TheDocumentHasEachArchitecture) {
  const std::string document = read_file(source_dir() / "docs/formats.md");
  for (const models::GgufArchitecture& row : models::gguf_decoders()) {
    EXPECT_NE(document.find(fmt::format("`{}`", row.name)), std::string::npos) << row.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, GgufArchitectures, testing::ValuesIn(recipes()),
                         [](const auto& test) { return test.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GgufArchitectures);

}  // namespace
}  // namespace pippin
