// Vision towers of GGUF files, mmproj-*.gguf: the rows of Hugging Face's goldens, files that cannot
// be used, and a language model with its tower.
#include <array>
#include <filesystem>
#include <functional>
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
#include "pippin/image/model_picture.h"
#include "pippin/image/processors/image_processor.h"
#include "pippin/image/prompt/image_prompt.h"
#include "pippin/io/json.h"
#include "pippin/models/models_testing.h"
#include "pippin/models/registry.h"
#include "pippin/models/vision/vision_model.h"
#include "tests/gguf_projector_files.h"
#include "tests/gguf_tower_models.h"
#include "tests/vision_testing.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing_gguf::GgufFile;
using testing_gguf::open_with_tower;
using testing_gguf::picture_logits;

struct TowerFile {
  const char* folder;  // of the shared data
  const char* projector;
  const char* architecture;  // of the language model
  std::function<void(GgufFile&)> add = [](GgufFile&) {};
  testing_gguf::ProjectorForm form = {};
  bool has_usual_pixels = true;  // the processor's settings can be derived from a file
};

// The same pixels from the file's numbers and from the folder's.
void expect_pixels(const fs::path& dir, const fs::path& folder) {
  const std::string picture = read_file(folder / "image0.png");
  const auto pixels = [&](const fs::path& own) {
    return image::ImageProcessor::open(own)
        .process(image::parse_model_picture(as_byte_span(picture), "image0.png"))
        .pixel_values;
  };
  const image::FloatArray expected = pixels(folder), found = pixels(dir);
  EXPECT_EQ(found.shape, expected.shape);
  // The file has numbers of fp32.
  ASSERT_EQ(found.values.size(), expected.values.size());
  for (size_t i = 0; i < found.values.size(); ++i) {
    ASSERT_NEAR(found.values[i], expected.values[i], 1e-6) << i;
  }
  image::ImagePrompt::open(dir);
}

void expect_rows(const TowerFile& tower) {
  PIPPIN_SHARED_OR_SKIP(folder, std::string("models2026/vlm/") + tower.folder);
  const TempDir dir;
  GgufFile file = testing_gguf::projector_file(folder, tower.projector, tower.form);
  tower.add(file);
  testing_gguf::write_tower_folder(
      dir.path(),
      testing_gguf::language_config(Json::load(folder / "config.json"), tower.architecture), file);
  const testing_vision::Golden golden(folder);
  std::vector<float> rows;
  for (const image::ImageInputs& inputs : golden.images) {
    const std::vector<float> own = testing_gguf::tower_rows(dir.path(), inputs);
    rows.insert(rows.end(), own.begin(), own.end());
  }
  EXPECT_LE(golden.worst(rows), 1e-4);
  if (tower.has_usual_pixels) expect_pixels(dir.path(), folder);
}

struct TowerGroup {
  const char* name;
  std::vector<TowerFile> towers;
};

class GgufProjectors : public testing::TestWithParam<TowerGroup> {};

TEST_P(GgufProjectors, GiveTheRowsOfHuggingFace) {
  for (const TowerFile& tower : GetParam().towers) {
    SCOPED_TRACE(tower.folder);
    expect_rows(tower);
  }
}

// Further numbers of a tower: keys below "clip.vision.".
std::function<void(GgufFile&)> with(std::vector<std::pair<const char*, uint32_t>> numbers) {
  return [=](GgufFile& file) {
    for (const auto& [key, number] : numbers) {
      file.number(std::string("clip.vision.") + key, number);
    }
  };
}

INSTANTIATE_TEST_SUITE_P(
    Files, GgufProjectors,
    testing::Values(
        TowerGroup{"Tiles",
                   {{"smolvlm", "idefics3", "llama",
                     with({{"projector.scale_factor", 2}, {"preproc_image_size", 48}})},
                    {"idefics3", "idefics3", "llama",
                     with({{"projector.scale_factor", 2}, {"preproc_image_size", 48}})},
                    {"internvl", "internvl", "qwen2",
                     with({{"projector.scale_factor", 2}, {"preproc_max_tiles", 4}})},
                    {"llava", "mlp", "llama",
                     [](GgufFile& file) { file.numbers("clip.vision.feature_layer", {1}); }},
                    {"llava",
                     "mlp",
                     "llama",
                     [](GgufFile& file) { file.numbers("clip.vision.feature_layer", {1}); },
                     {.swapped = true}},
                    {"llava_next", "mlp", "llama",
                     [](GgufFile& file) {
                       file.numbers("clip.vision.feature_layer", {1});
                       file.numbers("clip.vision.image_grid_pinpoints", {16, 32, 32, 16, 32, 32});
                     }},
                    {"gemma3", "gemma3", "gemma3", with({{"projector.scale_factor", 2}})}}},
        TowerGroup{"Patches",
                   {{"pixtral_llava", "pixtral", "llama", with({}), {}, false},
                    {"mistral3", "pixtral", "llama", with({{"spatial_merge_size", 2}}), {}, false},
                    {"lfm2_vl", "lfm2", "lfm2", with({{"projector.scale_factor", 2}}), {}, false},
                    {"gemma4_vl", "gemma4v", "gemma4", with({}), {}, false},
                    {"paddleocr_vl", "paddleocr", "paddleocr",
                     with({{"image_min_pixels", 256}, {"image_max_pixels", 1280}})},
                    {"minicpmv4_6", "minicpmv4_6", "qwen35",
                     [](GgufFile& file) { file.numbers("clip.vision.wa_layer_indexes", {0}); }}}},
        TowerGroup{"Qwen",
                   {{"qwen2_vl", "qwen2vl_merger", "qwen2vl",
                     with({{"image_min_pixels", 256}, {"image_max_pixels", 1280}})},
                    {"qwen2_5_vl", "qwen2.5vl_merger", "qwen2vl",
                     with({{"image_min_pixels", 256},
                           {"image_max_pixels", 1280},
                           {"n_wa_pattern", 2},
                           {"window_size", 16}})},
                    // With a tower for sound, too.
                    {"qwen2_5_vl", "qwen2.5o", "qwen2vl",
                     [](GgufFile& file) {
                       with({{"image_min_pixels", 256},
                             {"image_max_pixels", 1280},
                             {"n_wa_pattern", 2},
                             {"window_size", 16}})(file);
                       file.flag("clip.has_audio_encoder", true);
                       file.matrix("a.conv1d.0.weight").matrix("mm.a.fc.weight");
                     }},
                    {"qwen3_vl", "qwen3vl_merger", "qwen3vl",
                     [](GgufFile& file) {
                       with({{"image_min_pixels", 256}, {"image_max_pixels", 1280}})(file);
                       file.flags("clip.vision.is_deepstack_layers", {true, true, false});
                     }},
                    {"qwen3_5_vl", "qwen3vl_merger", "qwen35",
                     with({{"image_min_pixels", 256}, {"image_max_pixels", 1280}})},
                    {"glm4v", "glm4v", "glm4",
                     with({{"image_min_pixels", 128}, {"image_max_pixels", 640}})}}}),
    [](const auto& info) { return std::string(info.param.name); });

// --- a model with random weights ---

constexpr const char* kRandom = R"({
  "model_type": "smolvlm", "scale_factor": 2, "tie_word_embeddings": false,
  "text_config": {"model_type": "llama", "vocab_size": 48, "hidden_size": 16,
    "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 1, "max_position_embeddings": 256, "tie_word_embeddings": false},
  "vision_config": {"model_type": "smolvlm_vision", "hidden_size": 32, "image_size": 8,
    "intermediate_size": 64, "num_attention_heads": 2, "num_hidden_layers": 2, "patch_size": 2,
    "hidden_act": "gelu_pytorch_tanh"}})";
constexpr const char* kRandomProcessor = R"({
  "image_processor_type": "SmolVLMImageProcessor", "processor_class": "SmolVLMProcessor",
  "image_mean": [0.5, 0.5, 0.5], "image_std": [0.25, 0.5, 0.5],
  "max_image_size": {"longest_edge": 8}, "size": {"longest_edge": 16}})";

std::vector<std::string> random_tokens() {
  std::vector<std::string> tokens = {
      "</s>", "Ċ", "ĊĊ", "<image>", "<fake_token_around_image>", "<global-img>"};
  for (const char* const place : {"1_col_1", "1_col_2", "2_col_1", "2_col_2"}) {
    tokens.push_back(fmt::format("<row_{}>", place));
  }
  for (char letter = 'a'; letter <= 'z'; ++letter) tokens.emplace_back(1, letter);
  for (int i = 0; tokens.size() < 48; ++i) tokens.push_back(fmt::format("<unused_{}>", i));
  return tokens;
}

// SmolVLM as a folder and as two files.
class RandomTower : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    source_ = new TempDir;
    models::write_random_model(source_->path(), kRandom, [](const fs::path& folder) {
      models::build(folder, {.rows = true});
      const models::VisionModel tower(folder);
      tower.build({{1, 3, 8, 8}, {}});
    });
    write_file(*source_ / "preprocessor_config.json", kRandomProcessor);
  }
  static void TearDownTestSuite() {
    delete source_;
    source_ = nullptr;
  }

  static GgufFile tower_file(const testing_gguf::ProjectorForm& form = {}) {
    GgufFile file = testing_gguf::projector_file(source_->path(), "idefics3", form);
    with({{"projector.scale_factor", 2}, {"preproc_image_size", 16}})(file);
    return file;
  }
  RandomTower() {
    testing_gguf::language_file(source_->path(), random_tokens()).write(model_);
    tower_file().write(tower_);
  }

  // The message of a file that the model cannot be opened with.
  std::string refusal(const GgufFile& file) const {
    const TempDir folder;
    file.write(folder / "other.gguf");
    try {
      open_with_tower(model_, (folder / "other.gguf").string());
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  static TempDir* source_;
  TempDir dir_;
  fs::path model_ = dir_ / "model.gguf", tower_ = dir_ / "mmproj-model-f32.gguf";
};
TempDir* RandomTower::source_ = nullptr;

TEST_F(RandomTower, ComputesTheLogitsOfTheFolder) {
  const runtime::LoadedModel folder =
      open_with_tower(source_->path(), "", app::gguf_folder_with_tokenizer(model_));
  const std::vector<float> expected = picture_logits(folder);
  // The only one next to the model, or named.
  for (const std::string& named : {std::string(), tower_.string()}) {
    const std::vector<float> found = picture_logits(open_with_tower(model_, named));
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5);
  }
  const std::vector<float> in_folder = picture_logits(open_with_tower(dir_.path()));
  EXPECT_EQ(in_folder, picture_logits(open_with_tower(model_)));
}

TEST_F(RandomTower, MayBeQuantized) {
  const std::vector<float> expected = picture_logits(open_with_tower(model_));
  tower_file({.quantized = true}).write(tower_);
  const std::vector<float> found = picture_logits(open_with_tower(model_));
  EXPECT_NE(found, expected);
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 0.05) << i;
}

TEST_F(RandomTower, IsNotUsedIfItIsNotWantedOrNotTheOnlyOne) {
  EXPECT_EQ(open_with_tower(model_, "none").images, nullptr);
  EXPECT_FALSE(open_with_tower(model_, "none").images_error);
  tower_file().write(dir_ / "mmproj-other.gguf");
  const runtime::LoadedModel model = open_with_tower(model_);
  EXPECT_EQ(model.images, nullptr);
  ASSERT_TRUE(model.images_error);
  EXPECT_THAT(model.images_error->what(), HasSubstr("several vision towers"));
}

TEST_F(RandomTower, OfAnotherModelIsAnErrorOnlyIfItIsNamed) {
  GgufFile other;
  other.text("general.architecture", "clip").flag("clip.has_vision_encoder", true);
  other.text("clip.projector_type", "idefics3");
  other.tensor("mm.model.fc.weight", {5, 4}, std::string(80, '\0'));
  EXPECT_THAT(refusal(other), HasSubstr("other.gguf: mm.model.fc.weight: gives rows of 5 numbers, "
                                        "model.gguf takes 16"));
  other.write(tower_);
  const runtime::LoadedModel model = open_with_tower(model_);
  EXPECT_EQ(model.images, nullptr);
  ASSERT_TRUE(model.images_error);
  EXPECT_THAT(model.images_error->what(), HasSubstr("gives rows of 5 numbers"));
}

TEST_F(RandomTower, FilesThatAreNotSupportedAreNamed) {
  const auto typed = [](const char* type) {
    GgufFile file;
    file.text("general.architecture", "clip").flag("clip.has_vision_encoder", true);
    return file.text("clip.projector_type", type);
  };
  EXPECT_THAT(refusal(typed("resampler")),
              HasSubstr("'resampler' is not supported (supported: mlp, idefics3, gemma3,"));
  EXPECT_THAT(refusal(typed("deepseekocr")), HasSubstr("'deepseekocr' is not supported"));
  EXPECT_THAT(refusal(typed("cohere2")), HasSubstr("'cohere2' is not supported"));
  EXPECT_THAT(refusal(typed("qwen2vl_merger")),
              HasSubstr("belongs to language models of qwen2vl, model.gguf is 'llama'"));
  EXPECT_THAT(refusal(typed("idefics3")), HasSubstr("mm.model.fc.weight: no such matrix"));
  GgufFile sound;
  sound.text("general.architecture", "clip").flag("clip.has_audio_encoder", true);
  EXPECT_THAT(refusal(sound), HasSubstr("the file has no vision tower"));
  EXPECT_THAT(refusal(testing_gguf::language_file(source_->path(), random_tokens())),
              HasSubstr("'llama' is not a vision tower's"));
  GgufFile large = testing_gguf::projector_file(source_->path(), "idefics3");
  large.number("clip.vision.projector.scale_factor", 1U << 20);
  EXPECT_THAT(refusal(large), HasSubstr("1048576 is not between 1 and 65536"));
}

TEST_F(RandomTower, ATensorThatTheTowerLacksIsNamedAtTheFirstImage) {
  GgufFile file = tower_file();
  file.tensor("v.other.weight", {2}, std::string(8, '\0'));
  file.write(tower_);
  const runtime::LoadedModel model = open_with_tower(model_);
  EXPECT_THROW(
      {
        try {
          picture_logits(model);
        } catch (const Error& error) {
          EXPECT_THAT(error.what(), HasSubstr("v.other.weight"));
          throw;
        }
      },
      Error);
}

}  // namespace
}  // namespace pippin
