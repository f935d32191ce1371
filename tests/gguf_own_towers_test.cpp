// Vision towers of GGUF files that no golden has, or whose language models have an architecture of
// their own: random models as folders, as llama.cpp's converter writes them, and incomplete ones.
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pippin/app/open/gguf_model.h"
#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/checkpoint.h"
#include "pippin/io/json.h"
#include "pippin/models/gguf/gguf_projector.h"
#include "pippin/models/models_testing.h"
#include "pippin/models/registry.h"
#include "pippin/models/vision/vision_model.h"
#include "tests/gguf_projector_files.h"
#include "tests/gguf_tower_models.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing_gguf::GgufFile;
using testing_gguf::ProjectorForm;

struct OwnTower {
  const char* projector;
  const char* architecture;
  std::string config, preprocessor, processor;
  // Keys below "clip.vision." that the files of this type have, and whether they are needed.
  std::vector<std::pair<const char*, uint32_t>> needed, others;
  const char* image_token;  // null: the language model's GGUF is tested elsewhere
  const char* last;         // the matrix whose outputs have the language model's width
};

constexpr const char* kText =
    R"("vocab_size": 48, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
       "num_attention_heads": 2, "max_position_embeddings": 512, "rms_norm_eps": 1e-6,
       "tie_word_embeddings": false)";
constexpr const char* kLevels = R"("image_mean": [0.5, 0.25, 0.5], "image_std": [0.25, 0.5, 0.5])";

std::vector<OwnTower> own_towers() {
  return {
      {"paddleocr",
       "paddleocr",
       fmt::format(R"({{"model_type": "paddleocr_vl", "tie_word_embeddings": false,
           "text_config": {{"model_type": "paddleocr_vl_text", "num_key_value_heads": 1,
             "head_dim": 8, "rope_parameters": {{"rope_type": "default", "rope_theta": 10000,
               "mrope_section": [2, 1, 1]}}, {}}},
           "vision_config": {{"model_type": "paddleocr_vl_vision", "hidden_size": 8,
             "intermediate_size": 12, "num_attention_heads": 2, "num_hidden_layers": 2,
             "image_size": 8, "patch_size": 2, "layer_norm_eps": 1e-5}}}})",
                   kText),
       fmt::format(R"({{"image_processor_type": "PaddleOCRVLImageProcessor", {},
           "patch_size": 2, "merge_size": 2, "temporal_patch_size": 1,
           "size": {{"shortest_edge": 16, "longest_edge": 300}}}})",
                   kLevels),
       R"({"processor_class": "PaddleOCRVLProcessor"})",
       {{"image_min_pixels", 16}, {"image_max_pixels", 300}},
       {},
       "<|IMAGE_PLACEHOLDER|>",
       "mm.2.weight"},
      {"deepseekocr2",
       "deepseek2-ocr",
       fmt::format(R"({{"model_type": "deepseek_ocr2", "tie_word_embeddings": false,
           "text_config": {{"model_type": "deepseek_ocr2_text", "num_key_value_heads": 2,
             "moe_intermediate_size": 8, "n_routed_experts": 4, "n_shared_experts": 2,
             "num_experts_per_tok": 2, "first_k_dense_replace": 1, {}}},
           "vision_config": {{"sam_config": {{"hidden_size": 8, "num_attention_heads": 2,
               "num_hidden_layers": 3, "image_size": 96, "patch_size": 2, "mlp_dim": 12,
               "output_channels": 5, "window_size": 3, "global_attn_indexes": [1],
               "downsample_channels": [7, 8]}},
             "encoder_config": {{"hidden_size": 8, "num_attention_heads": 2,
               "num_key_value_heads": 1, "num_hidden_layers": 2, "intermediate_size": 12,
               "rms_norm_eps": 1e-5, "rope_theta": 1000000}}}}}})",
                   kText),
       fmt::format(R"({{"image_processor_type": "DeepseekOcr2ImageProcessor", {},
           "size": {{"height": 96, "width": 96}}, "max_patches": 4}})",
                   kLevels),
       R"({"processor_class": "DeepseekOcr2Processor", "patch_size": 2})",
       {{"sam.embedding_length", 8},
        {"sam.block_count", 3},
        {"sam.head_count", 2},
        {"window_size", 3},
        {"attention.head_count_kv", 1}},
       {{"preproc_max_tiles", 4}},
       "<image>",
       "mm.model.fc.weight"},
      {"llama4",
       "llama4",
       fmt::format(R"({{"model_type": "llama4",
           "text_config": {{"model_type": "llama4_text", "num_key_value_heads": 1, {}}},
           "vision_config": {{"model_type": "llama4_vision_model", "hidden_size": 8,
             "intermediate_size": 32, "num_attention_heads": 2, "num_hidden_layers": 2,
             "image_size": 8, "patch_size": 2, "projector_input_dim": 10,
             "projector_output_dim": 10, "vision_output_dim": 10}}}})",
                   kText),
       fmt::format(R"({{"image_processor_type": "Llama4ImageProcessor", {},
           "size": {{"height": 8, "width": 8}}}})",
                   kLevels),
       R"({"processor_class": "Llama4Processor", "patch_size": 2})",
       {},
       {{"projector.scale_factor", 2}},
       nullptr,
       "mm.model.fc.weight"},
  };
}

// An image of the tower, as its processor makes it; DeepSeek-OCR 2 with both tables of queries.
image::ImageInputs inputs_of(const OwnTower& tower, const fs::path& folder) {
  image::ImageInputs inputs = testing_gguf::picture_inputs(folder, 30, 20);
  if (tower.projector == std::string_view("deepseekocr2")) {
    constexpr int64_t kWhole = 104, kTile = 8;
    const auto floats = [](int64_t count, int64_t side) {
      image::FloatArray array{{count, 3, side, side}, {}};
      for (int64_t i = 0; i < count * 3 * side * side; ++i) {
        array.values.push_back(static_cast<float>(i * 29 % 64) / 64);
      }
      return array;
    };
    inputs.pixel_values = floats(1, kWhole);
    inputs.further["pixel_values_local"] = floats(2, kTile);
  }
  return inputs;
}

class OwnTowers : public testing::TestWithParam<OwnTower> {
 protected:
  // The folder of the whole model, written once.
  static fs::path folder() {
    static std::map<std::string, TempDir> folders;
    const OwnTower& own = GetParam();
    const auto [found, is_new] = folders.try_emplace(own.projector);
    fs::path path = found->second.path();
    if (!is_new) return path;
    write_file(path / "preprocessor_config.json", own.preprocessor);
    write_file(path / "processor_config.json", own.processor);
    models::write_random_model(path, own.config, [&](const fs::path& random) {
      if (own.image_token != nullptr) models::build(random, {.rows = true});
      const models::VisionModel tower(random);
      for (const auto& pass : tower.passes(inputs_of(own, random)).passes) tower.build(pass.shape);
    });
    return path;
  }

  static GgufFile tower_file(const ProjectorForm& form = {}, const std::string& missing = {}) {
    GgufFile file = testing_gguf::projector_file(folder(), GetParam().projector, form);
    for (const auto& numbers : {GetParam().needed, GetParam().others}) {
      for (const auto& [key, number] : numbers) {
        if (key != missing) file.number(std::string("clip.vision.") + key, number);
      }
    }
    return file;
  }
  // A folder of the tower alone.
  static void write_tower(const fs::path& dir, const GgufFile& file) {
    const Json config = Json::load(folder() / "config.json");
    testing_gguf::write_tower_folder(
        dir, testing_gguf::language_config(config, GetParam().architecture), file);
  }
  static std::string refusal(const GgufFile& file) {
    const TempDir dir;
    try {
      write_tower(dir.path(), file);
      testing_gguf::tower_rows(dir.path(), inputs_of(GetParam(), dir.path()));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
};

TEST_P(OwnTowers, GiveTheRowsOfTheFolder) {
  const image::ImageInputs inputs = inputs_of(GetParam(), folder());
  const std::vector<float> expected = testing_gguf::tower_rows(folder(), inputs);
  ASSERT_FALSE(expected.empty());
  for (const bool whole : {false, true}) {
    const TempDir dir;
    write_tower(dir.path(), tower_file({.whole_shapes = whole}));
    EXPECT_EQ(testing_gguf::tower_rows(dir.path(), inputs), expected);
  }
}

TEST_P(OwnTowers, TakeThePixelsOfTheFolder) {
  const TempDir dir;
  write_tower(dir.path(), tower_file());
  for (const auto& [width, height] : {std::pair(16, 16), {30, 20}, {7, 40}}) {
    const auto expected = testing_gguf::picture_inputs(folder(), width, height);
    const auto found = testing_gguf::picture_inputs(dir.path(), width, height);
    EXPECT_EQ(found.pixel_values.shape, expected.pixel_values.shape);
    EXPECT_EQ(found.pixel_values.values, expected.pixel_values.values);
    EXPECT_EQ(found.sizes.size(), expected.sizes.size());
  }
}

class OwnModels : public OwnTowers {};

TEST_P(OwnModels, GiveTheLogitsOfTheFolder) {
  const TempDir dir;
  std::vector<std::string> tokens = {"</s>", "Ċ", "ĊĊ", GetParam().image_token};
  for (char letter = 'a'; letter <= 'z'; ++letter) tokens.emplace_back(1, letter);
  for (int i = 0; tokens.size() < 48; ++i) tokens.push_back(fmt::format("<unused_{}>", i));
  const fs::path model = dir / "model.gguf", mmproj = dir / "mmproj-model-f32.gguf";
  GgufFile words = testing_gguf::language_file(folder(), tokens, GetParam().architecture);
  if (GetParam().projector == std::string_view("paddleocr")) {
    words.numbers("paddleocr.rope.dimension_sections", {2, 1, 1, 0});
  } else {
    words.number("deepseek2-ocr.rope.dimension_count", 0);
  }
  words.write(model);
  tower_file().write(mmproj);
  const auto folder_model =
      testing_gguf::open_with_tower(folder(), "", app::gguf_folder_with_tokenizer(model));
  const auto expect_equal = [](const std::vector<float>& found,
                               const std::vector<float>& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-4);
  };
  expect_equal(testing_gguf::picture_logits(testing_gguf::open_with_tower(model, mmproj.string())),
               testing_gguf::picture_logits(folder_model));
  expect_equal(testing_gguf::text_logits(testing_gguf::open_with_tower(model, "none")),
               testing_gguf::text_logits(folder_model));
}

TEST_P(OwnTowers, AnIncompleteOrDamagedFileIsRefusedInOneLine) {
  const TempDir dir;
  write_tower(dir.path(), tower_file());
  const std::vector<std::string> names = Checkpoint::open(dir.path()).names();
  EXPECT_GT(names.size(), 30U);
  const auto expect_line = [](const std::string& message, const std::string& name) {
    EXPECT_FALSE(message.empty()) << name;
    EXPECT_EQ(message.find('\n'), message.npos) << message;
  };
  for (const std::string& name : names) {
    expect_line(refusal(tower_file({.without = name})), name);
    expect_line(refusal(tower_file({.shortened = name})), name);
  }
  for (const auto& [key, number] : GetParam().needed) {
    GgufFile zero = tower_file({}, key);
    EXPECT_THAT(refusal(zero), HasSubstr(std::string("clip.vision.") + key));
    zero.number(std::string("clip.vision.") + key, 0);
    expect_line(refusal(zero), key);
  }
  EXPECT_THAT(refusal(tower_file({.without = GetParam().last})),
              HasSubstr(std::string(GetParam().last) + ": no such matrix"));
  EXPECT_THAT(refusal(tower_file({.shortened = GetParam().last})),
              HasSubstr("gives rows of 15 numbers, m.gguf takes 16"));
}

TEST(GgufProjectorTypes, AreInTheDocuments) {
  for (const char* const name : {"docs/formats.md", "docs/vision-models.md"}) {
    const std::string document = read_file(source_dir() / name);
    for (const models::GgufProjector& row : models::gguf_projectors()) {
      EXPECT_THAT(document, HasSubstr(fmt::format("`{}`", row.name))) << name;
    }
  }
}

std::vector<OwnTower> own_models() {
  std::vector<OwnTower> models = own_towers();
  std::erase_if(models, [](const OwnTower& tower) { return tower.image_token == nullptr; });
  return models;
}

std::string projector_name(const testing::TestParamInfo<OwnTower>& info) {
  return info.param.projector;
}

INSTANTIATE_TEST_SUITE_P(Random, OwnTowers, testing::ValuesIn(own_towers()), projector_name);
INSTANTIATE_TEST_SUITE_P(Random, OwnModels, testing::ValuesIn(own_models()), projector_name);

}  // namespace
}  // namespace pippin
