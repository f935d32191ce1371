// Compares the language models of vision-language checkpoints with Hugging Face's logits and greedy
// continuations: tiny random checkpoints, and the rows that its towers make of pictures.
#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/io/json.h"
#include "pippin/io/npz.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/batch.h"
#include "pippin/runtime/row_ids.h"
#include "pippin/runtime/stateful/model.h"
#include "tests/golden_testing.h"
#include "tests/reference_logits.h"
#include "tests/rows_testing.h"

namespace pippin {
namespace {

using models::BuildOptions;
using runtime::PromptPiece;
using testing_models::Golden;
using testing_models::made_rows;
using testing_models::most_likely;

// The prompt of a folder, with its pictures.
struct Pictures {
  explicit Pictures(const std::filesystem::path& folder, int32_t placeholder) : golden(folder) {
    const NpzFile npz = NpzFile::open(folder / "golden.npz");
    const auto read = [&](const std::string& name) {
      const auto values = npz.read(name).to_doubles();
      return std::vector<float>(values.begin(), values.end());
    };
    std::vector<std::vector<float>> parts = {read("image_features")};
    for (int i = 0; npz.contains("deepstack_" + std::to_string(i)); ++i) {
      parts.push_back(read("deepstack_" + std::to_string(i)));
    }
    std::vector<std::array<int64_t, 3>> grids;
    if (npz.contains("position_ids")) {
      positions = npz.read("position_ids").to_doubles();
      delta = npz.read("rope_deltas").to_doubles().at(0);
      const auto vision = Json::load(folder / "config.json").at("vision_config");
      const int64_t merge = vision.get_int_or("spatial_merge_size", 2);
      const auto sizes = npz.read("in_image_grid_thw").to_doubles();
      for (size_t i = 0; i + 2 < sizes.size(); i += 3) {
        grids.push_back({static_cast<int64_t>(sizes[i]), static_cast<int64_t>(sizes[i + 1]) / merge,
                         static_cast<int64_t>(sizes[i + 2]) / merge});
      }
    }
    const auto is_row = [&](size_t i) { return golden.prompt[i] == placeholder; };
    const auto rows =
        static_cast<size_t>(std::count(golden.prompt.begin(), golden.prompt.end(), placeholder));
    const size_t width = parts.front().size() / std::max<size_t>(rows, 1);
    size_t next = 0;
    for (size_t i = 0; i < golden.prompt.size();) {
      const size_t begin = i;
      while (i < golden.prompt.size() && is_row(i) == is_row(begin)) ++i;
      if (!is_row(begin)) {
        prompt.emplace_back(
            std::vector<int32_t>(golden.prompt.begin() + static_cast<std::ptrdiff_t>(begin),
                                 golden.prompt.begin() + static_cast<std::ptrdiff_t>(i)));
        continue;
      }
      std::vector<float> values;
      for (size_t row = begin; row < i; ++row, ++next) {
        for (const auto& part : parts) {
          const auto first = part.begin() + static_cast<std::ptrdiff_t>(next * width);
          values.insert(values.end(), first, first + static_cast<std::ptrdiff_t>(width));
        }
      }
      std::array<int64_t, 3> grid{};
      if (!grids.empty()) grid = grids.at(num_pictures);
      prompt.emplace_back(
          made_rows(std::move(values), static_cast<int64_t>(width * parts.size()), grid));
      ++num_pictures;
    }
    ids = runtime::prompt_ids(prompt);
  }

  Golden golden;
  std::vector<PromptPiece> prompt;
  std::vector<int32_t> ids;
  size_t num_pictures = 0;
  std::vector<double> positions;  // [3, tokens]; empty: those of texts
  double delta = 0;
};

constexpr double kTolerance = 1e-4;  // absolute; the standard deviation is 0.6

void provide(runtime::Sequence& sequence, const Pictures& pictures) {
  for (auto& rows : runtime::prompt_rows(pictures.prompt)) sequence.provide(rows);
}

// Decodes the greedy continuation after the prompt and `first` tokens, whose last logits are given.
void expect_continued_from(runtime::Sequence& sequence, std::span<const float> logits,
                           const Pictures& pictures, size_t first) {
  const auto& generated = pictures.golden.generated;
  for (size_t i = first; i < generated.size(); ++i) {
    ASSERT_LE(max_difference(logits, pictures.golden.gen_row(i)), kTolerance) << "token " << i;
    ASSERT_EQ(most_likely(logits), generated[i]) << "token " << i;
    if (i + 1 < generated.size()) logits = sequence.decode(generated[i]);
  }
}

void expect_continued(runtime::Sequence& sequence, std::span<const float> logits,
                      const Pictures& pictures) {
  expect_continued_from(sequence, logits, pictures, 0);
}

// The rows of known tokens, and the rest if the model has one, copied to another sequence.
void copy_to(runtime::Sequence& target, runtime::Sequence& source, const Pictures& pictures) {
  const auto layout = source.row_layout();
  const auto count = source.position();
  std::vector<std::byte> bytes(static_cast<size_t>(count) * layout.row_bytes());
  source.copy_rows(0, count, bytes);
  provide(target, pictures);
  std::vector<runtime::RowPiece> pieces;
  if (!layout.parts.empty()) pieces.push_back({bytes, count, 0, count});
  const std::vector<int32_t> ids(source.tokens().begin(), source.tokens().end());
  if (layout.has_rest) {
    const runtime::SequenceRest rest = source.copy_rest();
    target.append_rows(ids, pieces, &rest);
  } else {
    target.append_rows(ids, pieces);
  }
}

// The other ways to a sequence with the prompt.
void expect_copies(runtime::Model& model, const Pictures& pictures) {
  const auto first = model.new_sequence();
  // A prompt whose tokens see each other is fed whole.
  const bool is_whole = model.rows()->sight == runtime::RowForm::Sight::Prompt;
  auto ids = pictures.ids;
  if (is_whole) ids.push_back(pictures.golden.generated[0]);
  const int32_t last = ids.back();
  ids.pop_back();
  provide(*first, pictures);
  first->prefill(ids);
  ASSERT_GE(last, 0);
  const auto expect_continued = [&](runtime::Sequence& sequence, std::span<const float> logits,
                                    const Pictures& golden) {
    expect_continued_from(sequence, logits, golden, is_whole ? 1 : 0);
  };
  {
    SCOPED_TRACE("fork");
    const auto fork = first->fork();
    expect_continued(*fork, fork->decode(last), pictures);
  }
  {
    SCOPED_TRACE("file");
    const TempDir folder;
    first->save(folder / "sequence");
    const auto other = model.new_sequence();
    other->restore(folder / "sequence");
    EXPECT_EQ(other->row_runs().size(), pictures.num_pictures);
    expect_continued(*other, other->decode(last), pictures);
  }
  if (first->row_layout().limit > 0) {
    SCOPED_TRACE("rows");
    const auto other = model.new_sequence();
    copy_to(*other, *first, pictures);
    expect_continued(*other, other->decode(last), pictures);
  }
  if (model.capabilities().truncate) {
    SCOPED_TRACE("truncate");
    const int64_t count = first->position();
    first->prefill(std::vector<int32_t>{3, 4, 5, 6});
    first->truncate(count);
    expect_continued(*first, first->decode(last), pictures);
  }
}

// A text and a prompt with pictures share their steps.
void expect_together(const std::shared_ptr<runtime::Model>& model, const Pictures& pictures) {
  const auto seen = model->new_sequence(), text = model->new_sequence(),
             alone = model->new_sequence();
  const std::vector<int32_t> words = {3, 4, 5, 6, 7};
  text->prefill(words);
  alone->prefill(words);
  std::vector<float> logits(static_cast<size_t>(model->vocab_size()));
  const auto prompt = seen->prefill_prompt(pictures.prompt);
  std::copy(prompt.begin(), prompt.end(), logits.begin());
  runtime::Batch batch(model);
  for (size_t i = 0; i + 1 < pictures.golden.generated.size(); ++i) {
    batch.clear();
    batch.add(*text, static_cast<int32_t>(3 + i));
    batch.add(*seen, pictures.golden.generated[i]);
    batch.run();
    ASSERT_LE(max_difference(batch.logits(1), pictures.golden.gen_row(i + 1)), kTolerance) << i;
    const auto own = alone->decode(static_cast<int32_t>(3 + i));
    ASSERT_TRUE(std::equal(own.begin(), own.end(), batch.logits(0).begin())) << i;
  }
}

void expect_positions(const runtime::RowForm& form, const Pictures& pictures) {
  if (pictures.positions.empty()) return;
  ASSERT_TRUE(form.has_coordinates);
  runtime::RowRuns runs;
  for (auto& rows : runtime::prompt_rows(pictures.prompt)) runs.provide(form, rows);
  runs.begin(pictures.ids, 0);
  std::vector<int32_t> places;
  const int64_t count = std::ssize(pictures.ids);
  runs.coordinates(0, count, places);
  EXPECT_TRUE(std::equal(places.begin(), places.end(), pictures.positions.begin(),
                         pictures.positions.end()));
  runs.coordinates(count, 1, places);
  for (const int32_t place : places) EXPECT_EQ(place - count, pictures.delta);
}

void expect_golden_logits(const std::filesystem::path& folder) {
  const mil::Model program = models::build(
      folder, {.context = 256, .rows = true, .compute = BuildOptions::Compute::Float32Direct});
  mil::verify(program.program);
  ThreadPool pool(1);
  for (const int64_t chunk : {256, 7, 1}) {
    SCOPED_TRACE("chunks of " + std::to_string(chunk));
    const auto model = runtime::make_stateful_model(
        program, pool,
        {.prefill_chunk = chunk, .compute = {.precision = engine::Precision::Exact}});
    ASSERT_TRUE(model->rows());
    const Pictures pictures(folder, model->rows()->placeholder);
    ASSERT_GT(pictures.num_pictures, 0U);
    expect_positions(*model->rows(), pictures);
    const auto sequence = model->new_sequence();
    provide(*sequence, pictures);
    const auto logits = sequence->all_logits(pictures.ids);
    for (size_t i = 0; i < pictures.ids.size(); ++i) {
      const size_t width = pictures.golden.vocabulary;
      ASSERT_LE(max_difference(std::span(logits).subspan(i * width, width),
                               std::span(pictures.golden.logits).subspan(i * width, width)),
                kTolerance)
          << "token " << i;
    }
    sequence->reset();
    expect_continued(*sequence, sequence->prefill_prompt(pictures.prompt), pictures);
    if (chunk == 1) continue;
    expect_copies(*model, pictures);
    expect_together(model, pictures);
  }
}

// Folders of the shared data.
struct PictureGroup {
  const char* name;
  std::vector<const char*> folders;
};

class PictureModel : public testing::TestWithParam<PictureGroup> {};

TEST_P(PictureModel, HasHuggingFacesLogits) {
  for (const char* name : GetParam().folders) {
    SCOPED_TRACE(name);
    PIPPIN_SHARED_OR_SKIP(folder, std::string("models2026/vlm/") + name);
    expect_golden_logits(folder);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, PictureModel,
    testing::Values(
        PictureGroup{"Tiles",
                     {"aya_vision", "cohere2_vision", "deepseek_ocr2", "got_ocr2", "idefics3",
                      "internvl", "ovis2", "smolvlm"}},
        PictureGroup{"Llava",
                     {"llava", "llava_next", "llava_onevision", "mistral3", "pixtral_llava"}},
        PictureGroup{"Gemma", {"gemma3", "gemma4_vl", "paligemma2"}},
        PictureGroup{"Qwen", {"qwen2_5_vl", "qwen2_vl", "qwen3_5_vl", "qwen3_vl", "qwen3_vl_moe"}},
        PictureGroup{"Patches", {"glm4v", "lfm2_vl", "minicpmv4_6", "paddleocr_vl"}}),
    [](const auto& info) { return std::string(info.param.name); });

// The function with rows in a package, in fp16. Measured: 0.003.
TEST(PicturePackage, HasTheFunctionWithRows) {
  PIPPIN_SHARED_OR_SKIP(folder, "models2026/vlm/qwen3_vl");
  const TempDir out;
  const auto path = out / "model.mlpackage";
  mil::write_package(models::build(folder, {.context = 128, .rows = true}), path);
  const mil::Model program = mil::read_package(path);
  ThreadPool pool(1);
  const auto model = runtime::make_stateful_model(program, pool, {});
  ASSERT_TRUE(model->rows());
  const Pictures pictures(folder, model->rows()->placeholder);
  const auto sequence = model->new_sequence();
  provide(*sequence, pictures);
  EXPECT_LE(max_difference(sequence->all_logits(pictures.ids), pictures.golden.logits), 0.01);
}

}  // namespace
}  // namespace pippin
