// FastVLM as Apple publishes it: a checkpoint with a projector, and the tower as a Core ML package.
#include "pippin/models/vision/fastvlm.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/app/open/open_model.h"
#include "pippin/app/prompt_tokens.h"
#include "pippin/array/ops.h"
#include "pippin/base/byte_span.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/safetensors.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/family/package_part.h"
#include "pippin/models/models_testing.h"
#include "tests/word_tokenizer.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kRows = 4, kFeatures = 12, kWidth = 16;
constexpr const char* kConfig = R"({
  "model_type": "llava_qwen2", "architectures": ["LlavaQwen2ForCausalLM"], "hidden_size": 16,
  "intermediate_size": 24, "num_attention_heads": 2, "num_key_value_heads": 1,
  "num_hidden_layers": 2, "vocab_size": 40, "max_position_embeddings": 128,
  "tie_word_embeddings": true, "image_token_index": 30, "mm_hidden_size": 12,
  "mm_projector_type": "mlp2x_gelu", "mm_vision_tower": "mobileclip_l_1024",
  "mm_vision_select_layer": -2, "mm_use_im_start_end": false, "image_aspect_ratio": "pad"})";
constexpr const char* kProcessor = R"({
  "image_processor_type": "CLIPImageProcessor", "processor_class": "LlavaProcessor",
  "crop_size": {"height": 4, "width": 4}, "size": {"shortest_edge": 4}, "image_mean": [0, 0, 0],
  "image_std": [1, 1, 1]})";

// Half of the pixels, three rows of one channel for each row.
void write_tower(const fs::path& path, const char* output = "image_features") {
  constexpr auto kOpset = mil::Opset::CoreML6;
  models::FunctionRecorder recorder("main", kOpset);
  const array::Array images = recorder.input("images", mil::DataType::Float32, {1, 3, 4, 4});
  recorder.output(output, array::reshape(images * 0.5, {1, kRows, kFeatures}));
  mil::Model model = models::empty_model({}, "tower", kOpset);
  recorder.add_to(model);
  mil::write_package(model, path);
}

std::vector<float> tensor(const SafetensorsFile& file, const std::string& name) {
  const ByteSpan bytes = file.find(name)->bytes;
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// x · Wᵀ + b of one row.
std::vector<float> product(const SafetensorsFile& file, const std::string& part,
                           const std::vector<float>& x) {
  const std::vector<float> weight = tensor(file, part + ".weight");
  std::vector<float> y = tensor(file, part + ".bias");
  for (size_t i = 0; i < y.size(); ++i) {
    for (size_t k = 0; k < x.size(); ++k) y[i] += weight[i * x.size() + k] * x[k];
  }
  return y;
}

std::string picture_bytes(int width, int height) {
  std::string file = fmt::format("P6\n{} {}\n255\n", width, height);
  for (int i = 0; i < width * height * 3; ++i) file += static_cast<char>(i * 5 % 251);
  return file;
}

class FastVlmFolder : public testing::Test {
 protected:
  void SetUp() override {
    write_tower(folder_ / "fastvithd.mlpackage");
    models::write_random_model(folder_.path(), kConfig, [&](const fs::path& path) {
      models::build(path, {.rows = true});
      models::FastVlm(path, path / "fastvithd.mlpackage").build();
    });
    write_file(folder_ / "preprocessor_config.json", kProcessor);
    testing_models::write_word_tokenizer(folder_.path(), 40, {{"<image>", 30}});
  }
  runtime::LoadedModel open() const {
    app::ModelChoice choice;
    choice.path = folder_.path().string();
    choice.load.threads = 1;
    return app::open_model(choice);
  }

  TempDir folder_;
};

TEST_F(FastVlmFolder, ProjectsTheRowsOfThePackage) {
  const auto model = open();
  ASSERT_NE(model.images, nullptr);
  const std::string bytes = picture_bytes(4, 4);
  const auto rows = model.images->rows({as_byte_span(bytes), "a.ppm"});
  ASSERT_EQ(rows.size(), 1U);
  ASSERT_EQ(rows[0]->count, kRows);
  ASSERT_EQ(rows[0]->width, kWidth);
  const auto file = SafetensorsFile::open(folder_ / "model.safetensors");
  for (int64_t row = 0; row < kRows; ++row) {
    std::vector<float> x;
    for (int64_t i = row * kFeatures; i < (row + 1) * kFeatures; ++i) {
      const int64_t pixel = i % 16 * 3 + i / 16;  // channels apart
      x.push_back(static_cast<float>(pixel * 5 % 251) / 255 / 2);
    }
    std::vector<float> hidden = product(*file, "model.mm_projector.0", x);
    for (float& value : hidden) value *= 0.5F * (1 + std::erf(value / std::sqrt(2.0F)));
    const std::vector<float> expected = product(*file, "model.mm_projector.2", hidden);
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(rows[0]->values[static_cast<size_t>(row * kWidth) + i], expected[i], 1e-5) << row;
    }
  }
  const runtime::ImageFile image{as_byte_span(bytes), "a.ppm"};
  const auto prompt = app::text_prompt(model, "w5 w6", false, {&image, 1});
  EXPECT_EQ(prompt.ids.size(), size_t{kRows + 2});
}

TEST_F(FastVlmFolder, NeedsItsInterface) {
  fs::remove_all(folder_ / "fastvithd.mlpackage");
  write_tower(folder_ / "fastvithd.mlpackage", "features");
  const auto model = open();  // for texts
  EXPECT_EQ(model.images, nullptr);
  ASSERT_TRUE(model.images_error);
  EXPECT_NE(std::string(model.images_error->what()).find("not FastVLM's vision tower"),
            std::string::npos);
  fs::remove_all(folder_ / "fastvithd.mlpackage");
  EXPECT_FALSE(open().images_error);
}

}  // namespace
}  // namespace pippin
