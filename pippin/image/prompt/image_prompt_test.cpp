// Expanded prompts, compared with those of transformers' processors.
#include "pippin/image/prompt/image_prompt.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/image/processors/image_processor.h"

namespace pippin::image {
namespace {

namespace fs = std::filesystem;

Picture gray_picture(int64_t width, int64_t height) {
  return {width, height, 3, std::vector<uint8_t>(static_cast<size_t>(width * height * 3), 128)};
}

// The text that a tokenizer receives from transformers: rows are repeated tokens.
std::string flat(const std::vector<ImagePiece>& pieces, const std::string& row_token) {
  std::string text;
  for (const ImagePiece& piece : pieces) {
    if (const auto* part = std::get_if<std::string>(&piece)) {
      text += *part;
    } else {
      for (int64_t i = 0; i < std::get<RowRun>(piece).count; ++i) text += row_token;
    }
  }
  return text;
}

std::string stored_text(const Json& pieces) {
  std::string text;
  for (const Json& piece : pieces.elements()) {
    if (piece.is_string()) {
      text += piece.as_string();
      continue;
    }
    // Mllama's processor writes the token of the beginning, as its chat template does.
    if (piece.at(0).as_string() == "<s>") continue;
    for (int64_t i = 0; i < piece.at(1).as_int(); ++i) text += piece.at(0).as_string();
  }
  return text;
}

// Returns the object with a further member.
Json with_type(const Json& settings, const std::string& type) {
  std::string text = settings.dump();
  text.insert(
      1, fmt::format(R"("image_processor_type": "{}"{} )", type, settings.size() == 0 ? "" : ","));
  return Json::parse(text, "preprocessor_config.json");
}

TEST(ImagePromptGoldens, EqualTransformersOfAllProcessors) {
  PIPPIN_SHARED_OR_SKIP(pictures, "models2026/proc/images");
  size_t compared = 0;
  for (const auto& entry : fs::directory_iterator(pictures.parent_path())) {
    const fs::path path = entry.path() / "prompt.json";
    if (!fs::exists(path)) continue;
    SCOPED_TRACE(entry.path().filename().string());
    const Json golden = Json::load(path);
    const Json image_processor =
        with_type(golden.at("settings"), golden.get_string("image_processor"));
    const auto processor = ImageProcessor::parse(image_processor);
    const auto prompt = ImagePrompt::parse(golden.get_string("processor"),
                                           golden.at("processor_settings"), image_processor);
    for (const Json& item : golden.at("cases").elements()) {
      std::vector<ImageInputs> inputs;
      for (const Json& size : item.at("images").elements()) {
        inputs.push_back(processor.process(gray_picture(size.at(0).as_int(), size.at(1).as_int())));
      }
      const std::string text = item.get_string("text");
      // GOT-OCR 2's goldens have no placeholder.
      if (text.find(prompt.placeholder()) == std::string::npos) inputs.clear();
      EXPECT_EQ(flat(prompt.expand_text(text, inputs), prompt.row_token()),
                stored_text(item.at("expanded")))
          << text;
    }
    ++compared;
  }
  EXPECT_EQ(compared, 16u);
}

TEST(ImagePrompt, PutsTilesIntoText) {
  const auto prompt = ImagePrompt::parse(
      "SmolVLMProcessor", Json::parse(R"({"image_seq_len": 64})", "processor_config.json"),
      Json::parse("{}", "preprocessor_config.json"));
  ImageInputs inputs;
  inputs.sizes["rows"] = {{1, 1}, {1}};
  inputs.sizes["cols"] = {{1, 1}, {2}};
  const std::vector<ImagePiece> expected = {"Look: <fake_token_around_image><row_1_col_1>",
                                            RowRun{64, 0},
                                            "<fake_token_around_image><row_1_col_2>",
                                            RowRun{64, 1},
                                            "\n\n<fake_token_around_image><global-img>",
                                            RowRun{64, 2},
                                            "<fake_token_around_image> what?"};
  EXPECT_EQ(prompt.expand_text("Look: <image> what?", {{inputs}}), expected);
  EXPECT_ERROR(prompt.expand_text("Look", {{inputs}}), ErrorCode::InvalidArgument,
               "the prompt has 0 placeholders '<image>' for 1 images");
  EXPECT_ERROR(prompt.expand({}, 0), ErrorCode::InvalidArgument,
               "the inputs of an image have no number 0 of 'rows'");
  EXPECT_ERROR(ImagePrompt::parse("FooProcessor", Json::parse("{}", "x"), Json::parse("{}", "x")),
               ErrorCode::Unsupported, "images in prompts of a 'FooProcessor' are not supported");
}

TEST(ImagePrompt, PutsBlocksOfPatchesIntoText) {
  const Json settings = Json::parse(R"({"merge_size": 2})", "preprocessor_config.json");
  ImageInputs inputs;
  inputs.sizes["image_grid_thw"] = {{1, 3}, {1, 4, 6}};
  for (const auto& [processor, token] : {std::pair("Qwen2_5_VLProcessor", "<|image_pad|>"),
                                         {"Qwen2_5OmniProcessor", "<|IMAGE|>"},
                                         {"PaddleOCRVLProcessor", "<|IMAGE_PLACEHOLDER|>"}}) {
    const auto prompt = ImagePrompt::parse(processor, Json::parse("{}", "x"), settings);
    EXPECT_EQ(prompt.row_token(), token);
    const std::vector<ImagePiece> expected = {"Look: ", RowRun{6, 0}, " what?"};
    EXPECT_EQ(prompt.expand_text(fmt::format("Look: {} what?", token), {{inputs}}), expected);
  }
}

// The parts of an image and images next to each other have one token between them.
TEST(ImagePrompt, WritesIdefics2TokensOnce) {
  const auto prompt = ImagePrompt::parse(
      "Idefics2Processor", Json::parse(R"({"image_seq_len": 2})", "processor_config.json"),
      Json::parse("{}", "preprocessor_config.json"));
  ImageInputs one, two;
  one.pixel_values.shape = {1, 1, 3, 4, 4};
  two.pixel_values.shape = {1, 2, 3, 4, 4};
  EXPECT_EQ(flat(prompt.expand_text("<image><image> and <image>?", {{two, one, one}}), "<image>"),
            "<fake_token_around_image><image><image><fake_token_around_image><image><image>"
            "<fake_token_around_image><image><image><fake_token_around_image> and "
            "<fake_token_around_image><image><image><fake_token_around_image>?");
}

TEST(ImagePrompt, PutsVideosIntoText) {
  const auto parse = [](const char* processor) {
    return ImagePrompt::parse(processor, Json::parse("{}", "x"), Json::parse("{}", "x"));
  };
  ImageInputs picture, video;
  picture.sizes["image_grid_thw"] = {{1, 3}, {1, 2, 4}};
  video.sizes["image_grid_thw"] = {{1, 3}, {2, 4, 4}};
  video.times = {0.25, 1.5};
  const std::vector<ImagePiece> timed = {"<|vision_start|>",
                                         RowRun{2, 0},
                                         "<|vision_end|><0.2 seconds><|vision_start|>",
                                         RowRun{4, 0},
                                         "<|vision_end|><1.5 seconds><|vision_start|>",
                                         RowRun{4, 1},
                                         "<|vision_end|>?"};
  const auto qwen3 = parse("Qwen3VLProcessor");
  EXPECT_EQ(qwen3.expand_text("<|vision_start|><|image_pad|><|vision_end|><|vision_start|>"
                              "<|video_pad|><|vision_end|>?",
                              {{picture, video}}),
            timed);
  EXPECT_ERROR(qwen3.expand_text("<|image_pad|>", {{video}}), ErrorCode::InvalidArgument,
               "placeholder 0 of the prompt, '<|image_pad|>', stands for an image, not a video");
  ImageInputs minutes;
  minutes.times.assign(43, 65.5);
  minutes.seconds = 3666;
  const auto smol = parse("SmolVLMProcessor").expand_text("<video>?", {{minutes}});
  ASSERT_EQ(smol.size(), 87u);
  EXPECT_EQ(
      smol[0],
      ImagePiece("You are provided the following series of forty-three frames from a 1:01:06 "
                 "[H:MM:SS] video.\n\nFrame from 01:05:<fake_token_around_image><global-img>"));
  EXPECT_EQ(smol[2], ImagePiece("<fake_token_around_image>\nFrame from 01:05:"
                                "<fake_token_around_image><global-img>"));
  EXPECT_EQ(smol[86], ImagePiece("<fake_token_around_image>\n\n?"));
  const std::vector<ImagePiece> plain = {RowRun{8, 0}, "?"};
  const auto qwen2 = parse("Qwen2VLProcessor");
  EXPECT_EQ(qwen2.expand_text(qwen2.framed("?", 0, 1), {{video}}), plain);
}

TEST(ImagePrompt, PutsFramesIntoText) {
  const auto parse = [](const char* processor, const char* settings = "{}") {
    return ImagePrompt::parse(processor, Json::parse(settings, "x"),
                              Json::parse(R"({"image_grid_pinpoints": [[4, 4]]})", "x"));
  };
  ImageInputs video;
  video.sizes["image_grid_thw"] = {{1, 3}, {2, 4, 4}};
  video.sizes["num_soft_tokens_per_image"] = {{2}, {5, 6}};
  video.times = {0.5, 61.96};
  const auto frames = [&](const char* before, const char* between, const char* after, int64_t first,
                          int64_t second) {
    return std::vector<ImagePiece>{before, RowRun{first, 0}, between, RowRun{second, 1}, after};
  };
  EXPECT_EQ(parse("Glm4vProcessor").expand_text("a<|video|>b", {{video}}),
            frames("a<|begin_of_image|>", "<|end_of_image|>0<|begin_of_image|>",
                   "<|end_of_image|>61b", 4, 4));
  EXPECT_EQ(parse("Glm46VProcessor").expand_text("<|video|>", {{video}}),
            frames("<|begin_of_image|>", "<|end_of_image|>0.5 seconds<|begin_of_image|>",
                   "<|end_of_image|>62.0 seconds", 4, 4));
  EXPECT_EQ(parse("Gemma4Processor").expand_text("<|video|>", {{video}}),
            frames("00:00 <|image>", "<image|> 01:01 <|image>", "<image|>", 5, 6));
  const std::vector<ImagePiece> one = {RowRun{2 * 14 * 14 + 1, 0}, "?"};
  EXPECT_EQ(parse("LlavaOnevisionProcessor", R"({"num_image_tokens": 729})")
                .expand_text("<video>?", {{video}}),
            one);
}

// As transformers' processors write them.
TEST(ImagePrompt, FramesTexts) {
  const auto parse = [](const char* processor, const char* settings) {
    return ImagePrompt::parse(processor, Json::parse("{}", "x"), Json::parse(settings, "x"));
  };
  const auto paligemma = parse("PaliGemmaProcessor", R"({"image_seq_length": 3})");
  EXPECT_TRUE(paligemma.writes_special_tokens());
  EXPECT_EQ(
      flat(paligemma.expand_text(paligemma.framed("caption en", 2), std::vector<ImageInputs>(2)),
           paligemma.row_token()),
      "<image><image><image><image><image><image><bos>caption en\n");
  EXPECT_EQ(paligemma.framed("<image>caption", 1), "<image>caption\n");
  const auto gemma3n = parse("Gemma3nProcessor", "{}");
  EXPECT_FALSE(gemma3n.writes_special_tokens());
  const std::vector<ImagePiece> expected = {"\n\n<start_of_image>", RowRun{256, 0},
                                            "<end_of_image>\n\nWhat?"};
  EXPECT_EQ(gemma3n.expand_text(gemma3n.framed("What?", 1), std::vector<ImageInputs>(1)), expected);
}

}  // namespace
}  // namespace pippin::image
