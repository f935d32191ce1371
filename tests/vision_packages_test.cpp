// Folders of the packages of a language model and of its vision tower: they give the rows and the
// tokens of the folder that they were converted from, and take images of one shape.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/app/convert/convert.h"
#include "pippin/app/convert/convert_arguments.h"
#include "pippin/app/convert/package_output.h"
#include "pippin/app/open/open_model.h"
#include "pippin/app/verify.h"
#include "pippin/base/byte_span.h"
#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/log.h"
#include "pippin/base/testing.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/models_testing.h"
#include "pippin/models/vision/vision_model.h"
#include "pippin/runtime/sequence.h"
#include "pippin/runtime/vision_prompt.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

// A tokenizer whose ids are w0, w1, ... and, in place of one of them, the token of rows.
void write_row_tokenizer(const fs::path& folder, int count, int row_id, const std::string& token) {
  std::string vocabulary;
  for (int id = 0; id < count; ++id) {
    const std::string word = id == row_id ? token : fmt::format("w{}", id);
    vocabulary += fmt::format("{}\"{}\": {}", id > 0 ? ", " : "", word, id);
  }
  write_file(folder / "tokenizer.json",
             fmt::format(R"({{"version": "1.0", "normalizer": null, "post_processor": null,
 "pre_tokenizer": {{"type": "WhitespaceSplit"}}, "decoder": null, "truncation": null,
 "padding": null, "added_tokens": [{{"id": {}, "content": "{}", "single_word": false,
   "lstrip": false, "rstrip": false, "normalized": false, "special": true}}],
 "model": {{"type": "WordLevel", "unk_token": "w0", "vocab": {{{}}}}}}})",
                         row_id, token, vocabulary));
}

// An image whose neighbouring pixels differ.
std::string ppm_bytes(int width, int height) {
  std::string file = fmt::format("P6\n{} {}\n255\n", width, height);
  for (int i = 0; i < width * height * 3; ++i) {
    file += static_cast<char>((i * 37 + i / width * 11) % 251);
  }
  return file;
}

app::ConvertOptions with_image_size(const std::string& size) {
  app::ConvertArguments arguments;
  arguments.image_size = size;
  return app::options_of(arguments);
}

std::vector<float> image_rows(const runtime::LoadedModel& model, const runtime::ImageFile& image) {
  std::vector<float> all;
  for (const auto& rows : model.images->rows(image)) {
    all.insert(all.end(), rows->values.begin(), rows->values.end());
  }
  return all;
}

// The largest difference as a share of the largest value.
double difference_of(const std::vector<float>& found, const std::vector<float>& expected) {
  if (found.size() != expected.size()) return INFINITY;
  float most = 0, largest = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    most = std::max(most, std::abs(found[i] - expected[i]));
    largest = std::max(largest, std::abs(expected[i]));
  }
  return most / largest;
}

// The greedy continuation of a prompt of words around an image.
std::vector<int32_t> continuation(const runtime::LoadedModel& model,
                                  const runtime::ImageFile& image) {
  const std::string text = fmt::format("w5 w9 {} w7 w3", model.images->placeholder());
  const runtime::VisionPrompt prompt =
      model.images->read(model.tokenizer, text, /*add_special_tokens=*/false, {&image, 1});
  const auto sequence = model.model->new_sequence();
  runtime::provide_rows(*sequence, prompt, 0);
  std::vector<int32_t> ids;
  auto logits = sequence->prefill(prompt.ids);
  for (int i = 0; i < 8; ++i) {
    const auto best = std::max_element(logits.begin(), logits.end());
    ids.push_back(static_cast<int32_t>(best - logits.begin()));
    logits = sequence->decode(ids.back());
  }
  return ids;
}

runtime::LoadedModel open_folder(const fs::path& folder) {
  app::ModelChoice choice;
  choice.path = folder.string();
  choice.load.threads = 1;
  return app::open_model(choice);
}

// A model for `build_model` of write_random_model: its text, and its tower for one shape.
void build_both(const fs::path& folder, const image::VisionShape& shape) {
  models::BuildOptions options;
  options.rows = true;
  models::build(folder, options);
  models::VisionModel(folder).build(shape);
}

constexpr const char* kText = R"("model_type": "llama", "hidden_size": 16, "intermediate_size": 24,
  "num_attention_heads": 2, "num_key_value_heads": 1, "num_hidden_layers": 2, "vocab_size": 40,
  "max_position_embeddings": 256, "rms_norm_eps": 1e-6, "tie_word_embeddings": false)";

// Tiles of 8 x 8 pixels, each of which becomes four rows.
class TilePackages : public testing::Test {
 protected:
  void SetUp() override {
    const std::string config = fmt::format(
        R"({{"model_type": "smolvlm", "architectures": ["SmolVLMForConditionalGeneration"],
             "image_token_id": 30, "scale_factor": 2, "text_config": {{{}}}, "vision_config":
             {{"model_type": "smolvlm_vision", "hidden_size": 8, "num_attention_heads": 2,
               "num_hidden_layers": 2, "intermediate_size": 12, "image_size": 8,
               "patch_size": 2}}}})",
        kText);
    models::write_random_model(folder_.path(), config, [](const auto& path) {
      build_both(path, {{1, 3, 8, 8}, {}});
    });
    write_file(folder_ / "preprocessor_config.json",
               R"({"image_processor_type": "SmolVLMImageProcessor", "do_image_splitting": true,
                   "size": {"longest_edge": 24}, "max_image_size": {"longest_edge": 8}})");
    write_file(folder_ / "processor_config.json",
               R"({"processor_class": "SmolVLMProcessor", "image_seq_len": 4})");
    write_row_tokenizer(folder_.path(), 40, 30, "<image>");
  }

  std::string conversion_error(const app::ConvertOptions& options, const char* output = "made") {
    try {
      app::convert(folder_.path(), out_ / output, options);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  TempDir folder_, out_;
  std::string bytes_ = ppm_bytes(20, 13);
  runtime::ImageFile image_{as_byte_span(bytes_), "a.ppm"};
};

TEST_F(TilePackages, GiveTheRowsAndTokensOfTheFolder) {
  const auto result = app::convert(folder_.path(), out_ / "made");
  EXPECT_EQ(result.packages, 2);
  EXPECT_EQ(result.context, 256);
  const mil::Model tower = mil::read_package(out_ / "made" / "vision.mlpackage");
  EXPECT_EQ(tower.functions.front().inputs.front().shape, (std::vector<int64_t>{1, 3, 8, 8}));
  EXPECT_EQ(tower.functions.front().outputs.front().shape, (std::vector<int64_t>{1, 4, 16}));

  const auto folder = open_folder(folder_.path()), made = open_folder(out_ / "made");
  ASSERT_NE(made.images, nullptr);
  EXPECT_LE(difference_of(image_rows(made, image_), image_rows(folder, image_)), 0.01);
  EXPECT_EQ(continuation(made, image_), continuation(folder, image_));
  // Texts run with the language model's package alone, and a package of it can be made again.
  app::convert(out_ / "made", out_ / "text.mlpackage");
  EXPECT_EQ(mil::read_package(out_ / "text.mlpackage").functions.size(), 1U);
  EXPECT_EQ(open_folder(out_ / "text.mlpackage").images, nullptr);
}

TEST_F(TilePackages, AreComparedWithTheFolder) {
  app::convert(folder_.path(), out_ / "made");
  const auto compared = [&](const fs::path& model, const app::VerifyOptions& options) {
    const auto choice_of = [](const fs::path& path) {
      app::ModelChoice choice;
      choice.path = path.string();
      choice.load.threads = 1;
      return choice;
    };
    app::TokenInput tokens;
    tokens.text = "w5 w9 w7";
    tokens.images = {{bytes_, "a.ppm"}};
    return app::verify(choice_of(model), choice_of(folder_.path()), tokens, options);
  };
  app::VerifyOptions options;
  options.agreement.greedy_tokens = 8;
  options.limits.max_kl = 1e-3;
  const auto result = compared(out_ / "made", options);
  EXPECT_TRUE(result.holds());
  EXPECT_GT(result.agreement.tokens, 3 + 4);
  ASSERT_TRUE(result.agreement.image_difference.has_value());
  EXPECT_GT(*result.agreement.image_difference, 0);
  EXPECT_LE(*result.agreement.image_difference, 0.01);
  EXPECT_EQ(*compared(folder_.path(), {}).agreement.image_difference, 0);
  options.limits.max_step_difference = 1;
  EXPECT_ERROR(compared(folder_.path(), options), ErrorCode::InvalidArgument,
               "differences of steps, prefill and parts are not measured");
}

TEST_F(TilePackages, CompressTheTowerIfAsked) {
  app::ConvertOptions options;
  options.compression.quantize = "int8";
  options.compression.min_elements = 1;
  const auto language = app::convert(folder_.path(), out_ / "language", options);
  options.compress_vision = true;
  const auto both = app::convert(folder_.path(), out_ / "both", options);
  ASSERT_TRUE(language.compression && both.compression);
  EXPECT_LT(language.compression->compressed.size(), both.compression->compressed.size());
  const auto folder = open_folder(folder_.path());
  const auto plain = image_rows(folder, image_);
  EXPECT_LE(difference_of(image_rows(open_folder(out_ / "language"), image_), plain), 0.01);
  const auto changed = difference_of(image_rows(open_folder(out_ / "both"), image_), plain);
  EXPECT_GT(changed, 0.0);
  EXPECT_LE(changed, 0.1);
}

TEST_F(TilePackages, CalibrateTheLanguageModel) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += fmt::format("w{} ", i * 7 % 30);
  write_file(out_ / "text.txt", text);
  app::ConvertOptions options;
  options.compression.quantize = "int8";
  options.compression.min_elements = 1;
  options.compression.calibrate = (out_ / "text.txt").string();
  const auto result = app::convert(folder_.path(), out_ / "made", options);
  EXPECT_EQ(result.path, out_ / "made");
  EXPECT_TRUE(result.compression.has_value());
  EXPECT_FALSE(continuation(open_folder(out_ / "made"), image_).empty());
  // The size is that of the whole folder, in the message as well.
  const uint64_t others =
      app::folder_bytes(out_ / "made") - app::folder_bytes(out_ / "made" / "language.mlpackage");
  options.compression.quantize.clear();
  options.compression.target_size = others + 1000;
  EXPECT_NE(conversion_error(options).find(
                fmt::format("--target-size {}: the output takes ", others + 1000)),
            std::string::npos)
      << conversion_error(options);
  options.compression.target_size = result.bytes;
  EXPECT_LE(app::convert(folder_.path(), out_ / "sized", options).bytes, result.bytes);
}

TEST_F(TilePackages, RefuseOptionsThatHaveNoEffect) {
  EXPECT_EQ(conversion_error(with_image_size("64x64")),
            "--image-size 64x64: images of any size become (1, 3, 8, 8) for this model");
  app::ConvertOptions options;
  options.compress_vision = true;
  EXPECT_EQ(conversion_error(options), "--compress-vision without a way to compress");
  options.compression.quantize = "int8";
  EXPECT_NE(conversion_error(options, "x.mlpackage").find("cannot end in .mlpackage"),
            std::string::npos);
  for (const char* family : {"anemll", "windowed"}) {
    options.family = family;
    EXPECT_EQ(conversion_error(options),
              fmt::format("--compress-vision: only for --family stateful, not {}", family));
  }
  fs::remove(folder_ / "preprocessor_config.json");
  options.family = "stateful";
  EXPECT_EQ(conversion_error(options),
            "--compress-vision: the model has no vision tower with an image processor");
}

TEST_F(TilePackages, LackTheTowerWithAWarning) {
  std::vector<std::string> warnings;
  const LogScope log(LogLevel::Warn,
                     [&](LogLevel, std::string_view line) { warnings.emplace_back(line); });
  const auto converted = [&](const fs::path& source, const fs::path& output,
                             const char* family = "stateful") {
    warnings.clear();
    app::ConvertOptions options;
    options.family = family;
    app::convert(source, output, options);
    return warnings;
  };
  const std::string expected = fmt::format(
      "{}: the language model alone; an output without .mlpackage has the vision tower as well",
      (out_ / "x.mlpackage").string());
  EXPECT_EQ(converted(folder_.path(), out_ / "x.mlpackage"), std::vector{expected});
  EXPECT_EQ(converted(folder_.path(), out_ / "made"), std::vector<std::string>());
  for (const char* family : {"anemll", "windowed"}) {
    EXPECT_EQ(converted(folder_.path(), out_ / family, family),
              std::vector{fmt::format("{}: the language model alone; a folder of --family stateful "
                                      "has the vision tower as well",
                                      (out_ / family).string())});
    EXPECT_EQ(converted(out_ / "made", out_ / "chunks", family), std::vector<std::string>());
  }
  // Made of packages, which have no checkpoint of the tower.
  EXPECT_EQ(converted(out_ / "x.mlpackage", out_ / "y.mlpackage"), std::vector<std::string>());
  EXPECT_EQ(converted(out_ / "made", out_ / "z.mlpackage"), std::vector<std::string>());
  // Nothing but the error if the output is not replaced.
  write_file(out_ / "file.mlpackage", "not a package");
  warnings.clear();
  EXPECT_NE(conversion_error({}, "file.mlpackage").find("is not replaced"), std::string::npos);
  EXPECT_EQ(warnings, std::vector<std::string>());
  fs::remove(folder_ / "preprocessor_config.json");
  EXPECT_EQ(converted(folder_.path(), out_ / "x.mlpackage"), std::vector<std::string>());
}

TEST_F(TilePackages, NeedALanguageModelThatTakesRows) {
  app::convert(folder_.path(), out_ / "made");
  app::convert(folder_.path(), out_ / "text.mlpackage");
  fs::remove_all(out_ / "made" / "language.mlpackage");
  fs::rename(out_ / "text.mlpackage", out_ / "made" / "language.mlpackage");
  EXPECT_ERROR(open_folder(out_ / "made"), ErrorCode::Unsupported, "takes no rows of images");
  fs::remove_all(out_ / "made" / "vision.mlpackage");
  fs::copy(out_ / "made" / "language.mlpackage", out_ / "made" / "vision.mlpackage",
           fs::copy_options::recursive);
  app::convert(folder_.path(), out_ / "whole");
  fs::remove_all(out_ / "made" / "language.mlpackage");
  fs::rename(out_ / "whole" / "language.mlpackage", out_ / "made" / "language.mlpackage");
  const auto opened = open_folder(out_ / "made");  // for texts
  EXPECT_EQ(opened.images, nullptr);
  ASSERT_TRUE(opened.images_error);
  EXPECT_NE(std::string(opened.images_error->what()).find("not a vision tower"), std::string::npos);
}

struct GoldenFolder {
  const char* name;
  const char* row_token;
  const char* processor;   // processor_config.json
  const char* image_size;  // for towers that take any
};

class VisionPackages : public testing::TestWithParam<GoldenFolder> {};

TEST_P(VisionPackages, GiveTheRowsAndTokensOfTheFolder) {
  const GoldenFolder& golden = GetParam();
  PIPPIN_SHARED_OR_SKIP(source, fmt::format("models2026/vlm/{}", golden.name));
  const TempDir folder, out;
  for (const char* name :
       {"config.json", "generation_config.json", "model.safetensors", "preprocessor_config.json"}) {
    write_file(folder / name, read_file(source / name));
  }
  if (*golden.processor != '\0') write_file(folder / "processor_config.json", golden.processor);
  write_row_tokenizer(folder.path(), 160, 150, golden.row_token);
  const std::string bytes = read_file(source / "image0.png");
  const runtime::ImageFile image{as_byte_span(bytes), "image0.png"};

  app::convert(folder.path(), out / "made", with_image_size(golden.image_size));
  const auto wide = open_folder(folder.path()), made = open_folder(out / "made");
  EXPECT_LE(difference_of(image_rows(made, image), image_rows(wide, image)), 0.01);
  EXPECT_EQ(continuation(made, image), continuation(wide, image));
  if (*golden.image_size == '\0') return;

  // Images of other sizes are refused, and so is a package for no size.
  const std::string other = ppm_bytes(24, 56);
  const runtime::ImageFile refused{as_byte_span(other), "other.ppm"};
  EXPECT_ERROR(made.images->rows(refused), ErrorCode::InvalidArgument,
               "other.ppm: the image becomes pixel_values");
  EXPECT_ERROR(made.images->rows(refused), ErrorCode::InvalidArgument,
               fmt::format("which images of {} pixels become", golden.image_size));
  EXPECT_ERROR(app::convert(folder.path(), out / "any"), ErrorCode::InvalidArgument,
               "--image-size HEIGHTxWIDTH chooses it");
}

// Each pass over tiles has a further row, the end of a line, so tiles are not computed apart.
TEST(VisionPackagesOfTiles, RefuseTilesWithRowsOfTheirPass) {
  PIPPIN_SHARED_OR_SKIP(source, "models2026/vlm/llava_next");
  const TempDir folder, out;
  for (const char* name : {"config.json", "model.safetensors", "preprocessor_config.json"}) {
    write_file(folder / name, read_file(source / name));
  }
  write_file(folder / "processor_config.json", R"({"processor_class": "LlavaNextProcessor",
             "patch_size": 4, "vision_feature_select_strategy": "default"})");
  write_row_tokenizer(folder.path(), 160, 150, "<image>");
  app::convert(folder.path(), out / "made");
  const std::string bytes = ppm_bytes(53, 37);
  const runtime::ImageFile image{as_byte_span(bytes), "a.ppm"};
  EXPECT_ERROR(open_folder(out / "made").images->rows(image), ErrorCode::Unsupported,
               "tiles of the image have");
}

INSTANTIATE_TEST_SUITE_P(
    Models, VisionPackages,
    testing::Values(GoldenFolder{"smolvlm", "<image>", R"({"processor_class": "SmolVLMProcessor",
                                                           "image_seq_len": 4})",
                                 ""},
                    GoldenFolder{"llava", "<image>", R"({"processor_class": "LlavaProcessor",
                                 "patch_size": 4, "num_additional_image_tokens": 1,
                                 "vision_feature_select_strategy": "default"})",
                                 ""},
                    GoldenFolder{"qwen3_vl", "<|image_pad|>", "", "30x41"}),
    [](const auto& named) { return std::string(named.param.name); });

}  // namespace
}  // namespace pippin
