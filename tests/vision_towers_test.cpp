// Compares vision towers with Hugging Face's own outputs: the rows of embeddings of each image,
// after the projector, from the folder in fp32 and
// from packages in fp16.
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/app/open/vision_model.h"
#include "pippin/base/testing.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/vision/vision_model.h"
#include "pippin/runtime/vision/vision_tower.h"
#include "tests/vision_testing.h"

namespace pippin {
namespace {

using testing_vision::Golden;

std::vector<float> rows_of(runtime::VisionTower& tower, const Golden& golden) {
  std::vector<float> all;
  for (const image::ImageInputs& inputs : golden.images) {
    for (const auto& rows : tower.encode(inputs)) {
      EXPECT_EQ(std::ssize(rows->values), rows->count * rows->width);
      all.insert(all.end(), rows->values.begin(), rows->values.end());
    }
  }
  return all;
}

// The grids of the rows, for models whose positions have three coordinates.
void expect_positions(runtime::VisionTower& tower, const Golden& golden) {
  if (golden.positions.empty()) return;
  std::vector<std::array<int64_t, 3>> grids;
  for (const image::ImageInputs& inputs : golden.images) {
    for (const auto& rows : tower.encode(inputs)) {
      EXPECT_EQ(rows->grid[0] * rows->grid[1] * rows->grid[2], rows->count);
      grids.push_back(rows->grid);
    }
  }
  constexpr double kPlaceholder = 150;  // of all these models
  EXPECT_EQ(testing_vision::positions_of(golden.ids, kPlaceholder, grids), golden.positions);
}

class VisionTowers : public testing::TestWithParam<const char*> {};

TEST_P(VisionTowers, GiveTheRowsOfHuggingFace) {
  PIPPIN_SHARED_OR_SKIP(folder, fmt::format("models2026/{}", GetParam()));
  const Golden golden(folder);
  const auto tower = app::open_vision_tower(folder, std::make_shared<ThreadPool>(1));
  EXPECT_LE(golden.worst(rows_of(*tower, golden)), 1e-4);
  expect_positions(*tower, golden);

  // Each program as a package.
  const models::VisionModel model(folder);
  const TempDir out;
  int count = 0;
  runtime::VisionTower of_packages(
      {[&](const image::ImageInputs& inputs) { return model.passes(inputs); },
       [&](const image::VisionShape& shape) {
         const auto path = out / fmt::format("{}.mlpackage", ++count);
         mil::write_package(model.build(shape), path);
         return mil::read_package(path);
       }},
      std::make_shared<ThreadPool>(1));
  EXPECT_LE(golden.worst(rows_of(of_packages, golden)), 1e-2);
}

INSTANTIATE_TEST_SUITE_P(
    Models, VisionTowers,
    testing::Values("vlm/aya_vision", "vlm/cohere2_vision", "vlm/deepseek_ocr2", "vlm/gemma3",
                    "vlm/got_ocr2", "vlm/idefics3", "vlm/internvl", "vlm/llava", "vlm/llava_next",
                    "vlm/gemma4_vl", "vlm/glm4v", "vlm/lfm2_vl", "vlm/llava_onevision",
                    "vlm/minicpmv4_6", "vlm/mistral3", "vlm/ovis2", "vlm/paddleocr_vl",
                    "vlm/paligemma2", "vlm/pixtral_llava", "vlm/qwen2_5_vl", "vlm/qwen2_vl",
                    "vlm/qwen3_5_vl", "vlm/qwen3_vl", "vlm/qwen3_vl_moe", "vlm/smolvlm",
                    "enc/aimv2", "enc/aimv2_lit", "enc/clip", "enc/dinov2", "enc/dinov2_reg",
                    "enc/metaclip2", "enc/siglip", "enc/siglip_b"),
    [](const auto& named) { return std::filesystem::path(named.param).filename().string(); });

}  // namespace
}  // namespace pippin
