// The rows of videos and tiles, compared with those of images, by towers with random weights.
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/app/open/vision_model.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/models/models_testing.h"
#include "pippin/models/vision/vision_model.h"
#include "tests/vision_random_towers.h"

namespace pippin {
namespace {

using vision_towers::inputs_for;
using vision_towers::random_sized_towers;
using vision_towers::random_towers;
using vision_towers::RandomTower;

RandomTower tower_called(const char* name) {
  for (const auto& towers : {random_towers(), random_sized_towers()}) {
    for (const RandomTower& tower : towers) {
      if (std::string_view(tower.name) == name) return tower;
    }
  }
  throw std::logic_error(name);
}

std::unique_ptr<runtime::VisionTower> random_tower_in(const std::filesystem::path& folder,
                                                      const RandomTower& tower,
                                                      const image::ImageInputs& inputs) {
  models::write_random_model(folder, tower.config, [&](const auto& path) {
    const models::VisionModel model(path);
    for (const auto& pass : model.passes(inputs).passes) model.build(pass.shape);
  });
  return app::open_vision_tower(folder, std::make_shared<ThreadPool>(1));
}

// The rows of each frame are means of four of the frame as an image, whose last row ends the video.
TEST(Videos, HaveFewerRowsInLlavaOnevision) {
  const RandomTower one = tower_called("llava_onevision_resized");
  image::ImageInputs video;
  video.pixel_values = {{1, 5, 3, 8, 8}, inputs_for(one).pixel_values.values};
  video.times = {0, 1, 2, 3, 4};
  const TempDir folder;
  const auto tower = random_tower_in(folder.path(), one, video);
  const std::vector<float> rows = tower->encode(video).at(0)->values;
  ASSERT_EQ(rows.size(), (5 * 4 + 1) * 6U);
  for (size_t frame = 0; frame < 5; ++frame) {
    image::ImageInputs image;
    const auto begin = video.pixel_values.values.begin() + static_cast<std::ptrdiff_t>(frame * 192);
    image.pixel_values = {{1, 1, 3, 8, 8}, std::vector<float>(begin, begin + 192)};
    image.sizes["image_sizes"] = {{1, 2}, {8, 8}};
    const std::vector<float> whole = tower->encode(image).at(0)->values;
    for (size_t i = 0; i < 4 * 6; ++i) {
      const size_t place = i / 6, first = (place / 2 * 8 + place % 2 * 2) * 6 + i % 6;
      const float mean =
          (whole[first] + whole[first + 6] + whole[first + 24] + whole[first + 30]) / 4;
      EXPECT_NEAR(rows[frame * 24 + i], mean, 1e-5);
    }
    for (size_t i = 0; i < 6; ++i) EXPECT_EQ(rows[5 * 24 + i], whole[16 * 6 + i]);
  }
}

// A frame has the rows that it has as an image.
TEST(Videos, AreImagesInGemma4AndGlm4v) {
  for (const char* name : {"gemma4", "glm4v"}) {
    SCOPED_TRACE(name);
    const RandomTower one = tower_called(name);
    const image::ImageInputs image = inputs_for(one);
    image::ImageInputs video = image;
    video.times = {0, 1};
    const auto doubled = [](auto& array) {
      array.shape.front() *= 2;
      array.values.insert(array.values.end(), array.values.begin(), array.values.end());
    };
    doubled(video.pixel_values);
    if (video.sizes.contains("image_grid_thw")) video.sizes["image_grid_thw"].values[0] = 2;
    if (video.sizes.contains("image_position_ids")) doubled(video.sizes["image_position_ids"]);
    const TempDir folder;
    const auto tower = random_tower_in(folder.path(), one, video);
    const auto expected = tower->encode(image), rows = tower->encode(video);
    ASSERT_EQ(expected.size(), 1U);
    ASSERT_EQ(rows.size(), 2U);
    for (const auto& frame : rows) {
      EXPECT_EQ(frame->values, expected[0]->values);
      EXPECT_EQ(frame->grid, expected[0]->grid);
    }
  }
}

// Each of its tiles has the rows that it has as a whole image.
TEST(DeepseekOcr2, TakesTiles) {
  std::vector<RandomTower> all = random_towers();
  const auto found = std::find_if(all.begin(), all.end(), [](const RandomTower& one) {
    return std::string_view(one.name) == "deepseek_ocr2";
  });
  ASSERT_NE(found, all.end());
  const TempDir folder;
  image::ImageInputs inputs = inputs_for(*found);
  models::write_random_model(folder.path(), found->config, [&](const auto& path) {
    const models::VisionModel model(path);
    for (const auto& pass : model.passes(inputs).passes) model.build(pass.shape);
  });
  const auto tower = app::open_vision_tower(folder.path(), std::make_shared<ThreadPool>(1));
  const auto rows_of = [&](const image::ImageInputs& given) {
    return tower->encode(given).at(0)->values;
  };
  const std::vector<float> whole = rows_of(inputs);
  std::vector<float> expected;
  image::FloatArray tiles{{2, 3, 4, 6}, {}};
  for (const float first : {0.5F, -1.0F}) {
    image::ImageInputs tile;
    tile.pixel_values = {{1, 3, 4, 6}, std::vector<float>(72, 0.25F)};
    tile.pixel_values.values[0] = first;
    tiles.values.insert(tiles.values.end(), tile.pixel_values.values.begin(),
                        tile.pixel_values.values.end());
    const std::vector<float> own = rows_of(tile);
    expected.insert(expected.end(), own.begin(), own.end() - 6);  // without the end
  }
  expected.insert(expected.end(), whole.begin(), whole.end());
  inputs.further["pixel_values_local"] = tiles;
  EXPECT_EQ(rows_of(inputs), expected);
}

}  // namespace
}  // namespace pippin
