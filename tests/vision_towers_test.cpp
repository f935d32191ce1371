// Compares vision towers with Hugging Face's own outputs: the rows of embeddings of each image,
// after the projector, from the folder in fp32.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/app/open/vision_model.h"
#include "pippin/base/testing.h"
#include "tests/vision_testing.h"

namespace pippin {
namespace {

using testing_vision::Golden;

class VisionTowers : public testing::TestWithParam<const char*> {};

TEST_P(VisionTowers, GiveTheRowsOfHuggingFace) {
  PIPPIN_SHARED_OR_SKIP(folder, fmt::format("models2026/vlm/{}", GetParam()));
  const Golden golden(folder);
  const auto tower = app::open_vision_tower(folder, std::make_shared<ThreadPool>(1));
  std::vector<float> found;
  for (const image::ImageInputs& inputs : golden.images) {
    for (const auto& rows : tower->encode(inputs)) {
      ASSERT_EQ(std::ssize(rows->values), rows->count * rows->width);
      found.insert(found.end(), rows->values.begin(), rows->values.end());
    }
  }
  EXPECT_LE(golden.worst(found), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Models, VisionTowers,
                         testing::Values("aya_vision", "cohere2_vision", "deepseek_ocr2", "gemma3",
                                         "got_ocr2", "idefics3", "internvl", "llava", "llava_next",
                                         "llava_onevision", "ovis2", "paligemma2", "smolvlm"),
                         [](const auto& named) { return std::string(named.param); });

}  // namespace
}  // namespace pippin
