// Towers for images of any size: the order of their patches, windows, and configurations that they
// refuse.
#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/app/open/vision_model.h"
#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/models/models_testing.h"
#include "pippin/models/vision/vision_description.h"
#include "pippin/models/vision/vision_model.h"
#include "pippin/nn/vision/patch_grid.h"

namespace pippin {
namespace {

TEST(PatchGrid, OrdersBlocks) {
  EXPECT_EQ(nn::block_order({2, 4}, 2), (std::vector<int64_t>{0, 1, 4, 5, 2, 3, 6, 7}));
  EXPECT_EQ(nn::block_order({2, 2}, 1), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(nn::inverse_order({2, 0, 1}), (std::vector<int64_t>{1, 2, 0}));
}

// Groups of equal windows, the smallest first; each window row by row.
TEST(PatchGrid, CutsWindows) {
  const nn::PatchWindows windows = nn::cut_windows({3, 5}, 1, 2);
  ASSERT_EQ(windows.groups.size(), 4U);
  const std::vector<std::vector<int64_t>> sizes = {{1, 1}, {2, 2}, {1, 2}, {2, 4}};
  for (size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_EQ(windows.groups[i].windows, sizes[i][0]) << i;
    EXPECT_EQ(windows.groups[i].patches, sizes[i][1]) << i;
  }
  EXPECT_EQ(windows.order,
            (std::vector<int64_t>{14, 10, 11, 12, 13, 4, 9, 0, 1, 5, 6, 2, 3, 7, 8}));
  // The patches of a block stay together.
  EXPECT_EQ(nn::cut_windows({4, 2}, 2, 1).order, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(PatchGrid, TurnsByRowAndColumn) {
  const auto angles = [](nn::PatchRope rope) {
    return nn::patch_angles({2, 4}, {6}, rope, 8, 16);  // row 1, column 2
  };
  const auto expect_angles = [](const std::vector<double>& given, std::vector<double> expected) {
    ASSERT_EQ(given.size(), expected.size());
    for (size_t i = 0; i < given.size(); ++i) EXPECT_NEAR(given[i], expected[i], 1e-12) << i;
  };
  expect_angles(angles(nn::PatchRope::Halves), {1, 0.25, 2, 0.5});
  // Frequencies 1, 1/2, 1/4, 1/8.
  expect_angles(angles(nn::PatchRope::Alternating), {1, 0.25, 1, 0.25});
}

constexpr int64_t kPatchSize = 24;

std::vector<float> encoded_patches(runtime::VisionTower& tower, std::vector<float> patches,
                                   const std::vector<int64_t>& grid) {
  image::ImageInputs inputs;
  inputs.pixel_values = {{std::ssize(patches) / kPatchSize, kPatchSize}, std::move(patches)};
  inputs.sizes["image_grid_thw"] = {{1, 3}, grid};
  return tower.encode(inputs).at(0)->values;
}

// Rotations depend on differences of places alone, so each window is computed as an image is.
TEST(PatchTransformer, ComputesWindowsLikeImages) {
  const TempDir folder;
  models::write_random_model(folder.path(), R"({"model_type": "qwen2_5_vl", "vision_config": {
      "hidden_size": 8, "intermediate_size": 12, "num_heads": 2, "patch_size": 2, "depth": 2,
      "out_hidden_size": 6, "window_size": 8, "fullatt_block_indexes": []}})",
                             [](const auto& path) {
                               models::VisionModel(path).build({{16, kPatchSize}, {1, 4, 4}});
                             });
  const auto tower = app::open_vision_tower(folder.path(), std::make_shared<ThreadPool>(1));
  // Two frames of 4 x 5 blocks of 2 x 2 patches, in windows of up to 2 x 2 blocks.
  constexpr int64_t kFrames = 2, kRows = 4, kColumns = 5, kSide = 2, kWidth = 6;
  constexpr int64_t kBlockSize = 4 * kPatchSize;
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> patches(kFrames * kRows * kColumns * kBlockSize);
  for (float& value : patches) value = normal(random);
  const std::vector<float> all =
      encoded_patches(*tower, patches, {kFrames, 2 * kRows, 2 * kColumns});
  ASSERT_EQ(all.size(), size_t{kFrames * kRows * kColumns * kWidth});
  for (int64_t frame = 0; frame < kFrames; ++frame) {
    for (int64_t top = 0; top < kRows; top += kSide) {
      for (int64_t left = 0; left < kColumns; left += kSide) {
        const int64_t columns = std::min(kSide, kColumns - left);
        std::vector<float> window, expected;
        for (int64_t i = 0; i < kSide * columns; ++i) {
          const int64_t block = (frame * kRows + top + i / columns) * kColumns + left + i % columns;
          const auto begin = patches.begin() + block * kBlockSize;
          window.insert(window.end(), begin, begin + kBlockSize);
          const auto row = all.begin() + block * kWidth;
          expected.insert(expected.end(), row, row + kWidth);
        }
        const std::vector<float> found =
            encoded_patches(*tower, window, {1, 2 * kSide, 2 * columns});
        ASSERT_EQ(found.size(), expected.size());
        for (size_t i = 0; i < found.size(); ++i) {
          ASSERT_NEAR(found[i], expected[i], 1e-5) << top << " " << left;
        }
      }
    }
  }
}

TEST(PatchTransformer, RefusesConfigurationsByName) {
  struct Case {
    const char* type;
    const char* more;
    const char* vision;
    ErrorCode code;
    const char* message;
  };
  constexpr ErrorCode kInvalid = ErrorCode::InvalidFile, kUnsupported = ErrorCode::Unsupported;
  const Case cases[] = {
      {"qwen2_vl", "", R"("num_heads": 7)", kInvalid, "num_heads"},
      {"qwen2_vl", "", R"("embed_dim": 12, "num_heads": 2)", kInvalid, "heads of 6 numbers"},
      {"qwen2_vl", "", R"("mlp_ratio": 1e9)", kInvalid, "mlp_ratio"},
      {"qwen2_5_vl", "", R"("hidden_size": 1280, "window_size": 27)", kInvalid, "window_size"},
      {"qwen3_vl", "", R"("num_position_embeddings": 8)", kInvalid, "8 is not a square"},
      {"qwen3_vl", "", R"("deepstack_visual_indexes": [27])", kInvalid, "27 is not one of 27"},
      {"qwen3_5", "", R"("deepstack_visual_indexes": [1])", kUnsupported, "deepstack"},
      {"glm4v", "", R"("image_size": 13)", kInvalid, "image_size"},
      {"paddleocr_vl", "", R"("temporal_patch_size": 2)", kUnsupported, "temporal_patch_size"},
      {"mistral3", "", R"("model_type": "clip_vision_model")", kUnsupported, "pixtral"},
      {"mistral3", R"("vision_feature_layer": [1],)", "", kUnsupported, "vision_feature_layer"},
      {"llava", "", R"("model_type": "pixtral")", kUnsupported, "vision_feature_select_strategy"},
      {"lfm2_vl", "", R"("num_patches": 6)", kInvalid, "6 is not a square"},
      {"lfm2_vl", R"("vision_feature_layer": -2,)", "", kUnsupported, "vision_feature_layer"},
      {"gemma4", "", R"("num_key_value_heads": 5)", kInvalid, "num_key_value_heads"},
      {"gemma4", "", R"("head_dim": 6)", kInvalid, "head_dim"},
      {"minicpmv4_6", R"("downsample_mode": "8x",)", "", kUnsupported, "'8x'"},
      {"minicpmv4_6", R"("insert_layer_id": 12,)", "", kInvalid, "12 is not one of 12"},
      {"minicpmv4_6", "", R"("window_kernel_size": [4, 4])", kUnsupported, "window_kernel_size"},
  };
  for (const Case& one : cases) {
    const std::string text = fmt::format(R"({{"model_type": "{}", {} "vision_config": {{{}}}}})",
                                         one.type, one.more, one.vision);
    try {
      models::vision::describe_vision(models::Config(Json::parse(text, "config.json")));
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), one.code) << text << ": " << error.what();
      EXPECT_NE(std::string(error.what()).find(one.message), std::string::npos)
          << text << ": " << error.what();
    }
  }
}

}  // namespace
}  // namespace pippin
