// Images in prompts of CoreML-LLM's bundles, compared with the checkpoint's own tower.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/array/array.h"
#include "pippin/array/ops.h"
#include "pippin/base/bytes.h"
#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/image/picture.h"
#include "pippin/mil/data_type.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/family/package_part.h"
#include "pippin/runtime/row_ids.h"
#include "pippin/runtime/vision_prompt.h"
#include "tests/coreml_llm_fixture.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using testing_models::BundleLayout;
using testing_models::kBundleContext;
using namespace testing_coreml_llm;

std::string picture(const fs::path& folder, int64_t width, int64_t height, uint32_t seed) {
  std::mt19937 random(seed);
  Picture made{width, height, 3, {}};
  for (int64_t i = 0; i < width * height * 3; ++i) {
    made.pixels.push_back(static_cast<uint8_t>(random()));
  }
  write_picture(folder / "picture.png", made);
  return read_file(folder / "picture.png");
}

runtime::VisionPrompt prompt_of(const runtime::LoadedModel& model, const std::string& text,
                                const std::string& file) {
  const runtime::ImageFile images[] = {{as_byte_span(file), "picture.png"}};
  return model.image_input("picture.png").read(model.tokenizer, text, false, images);
}

class CoreMlLlmImages : public CoreMlLlm {
 protected:
  fs::path write_with_tower(const char* name, BundleLayout layout) {
    const fs::path bundle = write(name, layout);
    testing_models::write_bundle_tower(folder_ / "checkpoint", bundle / "vision.mlpackage");
    return bundle;
  }
  // In place of the tower, a package that has these shapes.
  void write_other_tower(const fs::path& bundle, std::vector<int64_t> pixels,
                         std::vector<int64_t> rows, const char* places = "pixel_position_ids") {
    models::FunctionRecorder recorder("main", mil::Opset::CoreML8);
    const array::Array x = recorder.input("pixel_values", mil::DataType::Float32, pixels);
    const array::Array at = recorder.input(places, mil::DataType::Int32, {1, pixels[1], 2});
    const array::Array sum = array::reduce_sum(x, {0, 1, 2}) +
                             array::cast(array::reduce_sum(at, {0, 1, 2}), mil::DataType::Float32);
    recorder.output("image_features", array::zeros(mil::DataType::Float32, std::move(rows)) + sum);
    mil::Model model = models::empty_model({}, "vision", mil::Opset::CoreML8);
    recorder.add_to(model);
    fs::remove_all(bundle / "vision.mlpackage");
    mil::write_package(model, bundle / "vision.mlpackage");
  }
};

// Of several shapes, which one plan computes.
TEST_F(CoreMlLlmImages, GiveTheRowsAndTokensOfTheCheckpoint) {
  constexpr float kTolerance = 0.15F;
  const auto source = open(folder_ / "checkpoint");
  const auto bundle = open(write_with_tower("four", BundleLayout::Four));
  std::mt19937 random(11);
  for (const auto& [width, height, rows] : {std::array{40, 40, 64}, {60, 20, 56}, {9, 31, 60}}) {
    SCOPED_TRACE(width);
    const std::string file = picture(folder_.path(), width, height, 5);
    const std::string text = "w3 w8 <|image|> w5";
    const auto expected = prompt_of(source, text, file), given = prompt_of(bundle, text, file);
    ASSERT_EQ(expected.rows.size(), 1U);
    ASSERT_EQ(given.rows.size(), 1U);
    EXPECT_EQ(given.rows[0]->count, rows);
    ASSERT_EQ(given.rows[0]->values.size(), expected.rows[0]->values.size());
    float most = 0;
    for (size_t i = 0; i < given.rows[0]->values.size(); ++i) {
      EXPECT_NEAR(given.rows[0]->values[i], expected.rows[0]->values[i], 0.01);
      most = std::max(most, std::abs(given.rows[0]->values[i]));
    }
    EXPECT_GT(most, 1);
    ASSERT_EQ(given.ids.size(), expected.ids.size());
    const auto one = source.model->new_sequence(), other = bundle.model->new_sequence();
    provide_rows(*one, expected, 0);
    provide_rows(*other, given, 0);
    one->prefill(expected.ids);
    other->prefill(given.ids);
    while (one->position() < kBundleContext) {
      const auto id = static_cast<int32_t>(random() % 37);
      const auto wanted = one->decode(id), found = other->decode(id);
      const auto best = static_cast<size_t>(best_of(found));
      EXPECT_GE(wanted[best], wanted[static_cast<size_t>(best_of(wanted))] - kTolerance);
      EXPECT_NEAR(found[best], wanted[best], kTolerance);
    }
  }
}

// The rows are computed once, and a fork has those of its sequence.
TEST_F(CoreMlLlmImages, BelongToSequences) {
  const auto bundle = open(write_with_tower("three", BundleLayout::Three));
  const std::string file = picture(folder_.path(), 30, 30, 6);
  const auto prompt = prompt_of(bundle, "<|image|> w7", file);
  EXPECT_EQ(prompt_of(bundle, "<|image|>", file).rows[0], prompt.rows[0]);
  EXPECT_NE(prompt_of(bundle, "<|image|>", picture(folder_.path(), 30, 30, 7)).rows[0]->digest,
            prompt.rows[0]->digest);
  const auto one = bundle.model->new_sequence(), other = bundle.model->new_sequence();
  EXPECT_ERROR(one->prefill(prompt.ids), ErrorCode::InvalidArgument, "was not provided");
  provide_rows(*one, prompt, 0);
  const Ids expected = continuation(*one, prompt.ids);
  provide_rows(*other, prompt, 0);
  other->prefill(prompt.ids);
  const auto fork = other->fork();
  other->prefill(Ids{4});
  EXPECT_EQ(continuation(*fork, {expected[0]}), Ids(expected.begin() + 1, expected.end()));
}

TEST_F(CoreMlLlmImages, NamesTowersThatDoNotFit) {
  const fs::path bundle = write("four", BundleLayout::Four);
  const auto error_of = [&] {
    const auto model = open(bundle);
    model.model->new_sequence()->prefill(Ids{1});  // texts still work
    model.image_input("cat.png");
  };
  EXPECT_ERROR(error_of(), ErrorCode::Unsupported, "cat.png: the model takes text only");
  write_other_tower(bundle, {1, 630, 12}, {1, 70, 31});
  EXPECT_ERROR(error_of(), ErrorCode::InvalidFile,
               "vision.mlpackage: rows of 31 numbers, model_config.json has a hidden_size of 32");
  write_other_tower(bundle, {1, 630, 12}, {1, 70, 32}, "places");
  EXPECT_ERROR(error_of(), ErrorCode::Unsupported,
               "cat.png: vision.mlpackage: not the bundle's vision tower");
  write_other_tower(bundle, {1, 576, 12}, {1, 64, 32});
  EXPECT_ERROR(error_of(), ErrorCode::Unsupported,
               "vision.mlpackage: 576 patches of 12 numbers, which become 64 rows: ");
  write_other_tower(bundle, {1, 630, 13}, {1, 70, 32});
  EXPECT_ERROR(error_of(), ErrorCode::Unsupported, "630 patches of 13 numbers");
  write_other_tower(bundle, {1, 140, 12}, {1, 70, 32});
  EXPECT_ERROR(error_of(), ErrorCode::Unsupported, "140 patches of 12 numbers");
}

}  // namespace
}  // namespace pippin
