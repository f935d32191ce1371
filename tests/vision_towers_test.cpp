// Compares vision towers with Hugging Face's own outputs: the rows of embeddings of each image,
// after the projector, from the folder in fp32 and from packages in fp16.
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

void expect_golden_rows(const std::filesystem::path& folder) {
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

// Folders of the shared data.
struct Group {
  const char* name;
  std::vector<const char*> folders;
};

class VisionTowers : public testing::TestWithParam<Group> {};

TEST_P(VisionTowers, GiveTheRowsOfHuggingFace) {
  for (const char* name : GetParam().folders) {
    SCOPED_TRACE(name);
    const char* const kind = GetParam().name == std::string("Encoders") ? "enc" : "vlm";
    PIPPIN_SHARED_OR_SKIP(folder, fmt::format("models2026/{}/{}", kind, name));
    expect_golden_rows(folder);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, VisionTowers,
    testing::Values(
        Group{"Tiles",
              {"aya_vision", "cohere2_vision", "deepseek_ocr2", "got_ocr2", "idefics3", "internvl",
               "ovis2", "smolvlm"}},
        Group{"Llava", {"llava", "llava_next", "llava_onevision", "mistral3", "pixtral_llava"}},
        Group{"Gemma", {"gemma3", "gemma4_vl", "paligemma2"}},
        Group{"Qwen", {"qwen2_5_vl", "qwen2_vl", "qwen3_5_vl", "qwen3_vl", "qwen3_vl_moe"}},
        Group{"Patches", {"glm4v", "lfm2_vl", "minicpmv4_6", "paddleocr_vl"}},
        Group{"Encoders",
              {"aimv2", "aimv2_lit", "beit_cls", "clip", "convnext", "depth_anything", "dinov2",
               "dinov2_reg", "dinov3_convnext", "metaclip2", "mobilenet_v2", "segformer", "siglip",
               "siglip_b"}}),
    [](const auto& named) { return std::string(named.param.name); });

}  // namespace
}  // namespace pippin
