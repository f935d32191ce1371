// pippin run with images: on the models with pictures of the shared data, where a prompt in words
// gives the ids of the golden file, and so must the answer; and on one with random weights.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/image/picture.h"
#include "pippin/io/json.h"
#include "pippin/io/npz.h"
#include "pippin/models/models_testing.h"
#include "pippin/models/registry.h"
#include "pippin/models/vision/vision_model.h"
#include "tests/process.h"
#include "tests/word_tokenizer.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

// A copy of a folder with a tokenizer of words, in which `token` is the id of images, and a chat
// template.
class WordsAndImages {
 public:
  WordsAndImages(const fs::path& source, const std::string& token) {
    for (const auto& entry : fs::directory_iterator(source)) {
      const std::string name = entry.path().filename().string();
      if (name != "golden.npz") fs::create_symlink(entry.path(), folder_ / name);
    }
    const Json config = Json::load(source / "config.json");
    const auto named = config.find("image_token_id");
    image_id = static_cast<int32_t>(named ? named->as_int(0, 1 << 20)
                                          : config.at("image_token_index").as_int(0, 1 << 20));
    const Json text = config.has("text_config") ? config.at("text_config") : config;
    testing_models::write_word_tokenizer(
        folder_.path(), static_cast<int>(text.get_int_or("vocab_size", 160)), {{token, image_id}});
    write_file(folder_ / "chat_template.jinja",
               "{% for message in messages %}{% for part in message.content %}"
               "{% if part.type == 'image' %}" +
                   token +
                   "{% elif part.type == 'video' %}<|video_pad|>"
                   "{% else %} {{ part.text }} {% endif %}{% endfor %}{% endfor %}");
  }

  std::string path() const { return folder_.path().string(); }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  int32_t image_id = 0;

 private:
  TempDir folder_;
};

std::vector<int32_t> ids_of(const Json& list) {
  std::vector<int32_t> ids;
  for (const Json& id : list.elements()) {
    ids.push_back(static_cast<int32_t>(id.as_int(-1, 1 << 20)));
  }
  return ids;
}

std::vector<int32_t> golden_ids(const NpzFile& golden, const std::string& name) {
  std::vector<int32_t> ids;
  for (const float value : golden.read(name).to_floats()) {
    ids.push_back(static_cast<int32_t>(value));
  }
  return ids;
}

// `token` stands for an image, and is what the rule of prompts repeats for its rows.
void expect_golden_answer(const fs::path& source, const std::string& token) {
  const WordsAndImages model(source, token);
  const NpzFile golden = NpzFile::open(source / "golden.npz");
  const std::vector<int32_t> prompt = golden_ids(golden, "input_ids");
  // Each run of the id of images is one image.
  std::string words;
  std::vector<std::string> command = {"run", model.path()};
  int images = 0;
  for (size_t i = 0; i < prompt.size(); ++i) {
    if (prompt[i] != model.image_id) {
      words += " w" + std::to_string(prompt[i]) + " ";
    } else if (i == 0 || prompt[i - 1] != model.image_id) {
      words += token;
      command.insert(command.end(),
                     {"--image", model.file("image" + std::to_string(images++) + ".png")});
    }
  }
  command.insert(command.end(),
                 {words, "--raw", "--json", "--temperature", "0", "-n", "12", "--context", "256"});
  const auto result = run_pippin(command);
  ASSERT_EQ(result.status, 0) << result.err;
  const Json report = Json::parse(result.out, "report");
  EXPECT_EQ(ids_of(report.at("prompt_ids")), prompt);
  std::vector<int32_t> expected = golden_ids(golden, "gen_ids");
  const std::vector<int32_t> ids = ids_of(report.at("ids"));
  ASSERT_GE(ids.size(), 1U);
  expected.resize(ids.size());  // an end token ends the text
  EXPECT_EQ(ids, expected);
}

TEST(RunImages, AnswersAsTheGoldensDo) {
  const std::vector<std::pair<std::string, std::string>> models = {{"llava", "<image>"},
                                                                   {"llava_next", "<image>"},
                                                                   {"llava_onevision", "<image>"},
                                                                   {"qwen2_vl", "<|image_pad|>"},
                                                                   {"qwen2_5_vl", "<|image_pad|>"},
                                                                   {"qwen3_vl", "<|image_pad|>"},
                                                                   {"qwen3_5_vl", "<|image_pad|>"},
                                                                   {"glm4v", "<|image|>"},
                                                                   {"paligemma2", "<image>"}};
  for (const auto& [name, token] : models) {
    SCOPED_TRACE(name);
    PIPPIN_SHARED_OR_SKIP(source, "models2026/vlm/" + name);
    expect_golden_answer(source, token);
  }
}

// --- a model with random weights ---

constexpr const char* kRandomLlava = R"({
  "model_type": "llava", "image_token_id": 30, "vision_feature_layer": -2,
  "vision_feature_select_strategy": "default", "projector_hidden_act": "gelu",
  "text_config": {"model_type": "llama", "vocab_size": 32, "hidden_size": 16,
    "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 2, "max_position_embeddings": 128},
  "vision_config": {"model_type": "clip_vision_model", "hidden_size": 8, "image_size": 16,
    "intermediate_size": 12, "num_attention_heads": 2, "num_hidden_layers": 2, "patch_size": 4}})";
constexpr const char* kRandomProcessor = R"({
  "image_processor_type": "CLIPImageProcessor", "do_resize": true, "size": {"shortest_edge": 16},
  "resample": 3, "do_center_crop": true, "crop_size": {"height": 16, "width": 16},
  "do_rescale": true, "rescale_factor": 0.00392156862745098, "do_normalize": true,
  "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]})";

// A picture of one color.
Picture plain_picture(uint8_t red, uint8_t green, int64_t width = 20, int64_t height = 16) {
  Picture picture{width, height, 3, {}};
  for (int64_t i = 0; i < width * height; ++i) {
    picture.pixels.insert(picture.pixels.end(), {red, green, uint8_t{7}});
  }
  return picture;
}

class Images : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    source_ = new TempDir;
    models::write_random_model(source_->path(), kRandomLlava, [](const fs::path& folder) {
      models::build(folder, {.rows = true});
      const models::VisionModel tower(folder);
      tower.build(tower.passes({.pixel_values = {{1, 3, 16, 16}, std::vector<float>(768)}})
                      .passes.front()
                      .shape);
    });
    write_file(*source_ / "preprocessor_config.json", kRandomProcessor);
    write_picture(*source_ / "red.png", plain_picture(200, 10));
    write_picture(*source_ / "green.bmp", plain_picture(10, 200));
  }
  static void TearDownTestSuite() {
    delete source_;
    source_ = nullptr;
  }

  std::string image(const char* name) const { return (*source_ / name).string(); }
  ProcessResult run(const std::vector<std::string>& images, const std::string& prompt,
                    std::vector<std::string> more = {}) const {
    std::vector<std::string> command = {"run", model_.path()};
    for (const std::string& one : images) command.insert(command.end(), {"--image", one});
    command.insert(command.end(), {prompt, "--json", "--temperature", "0", "-n", "8"});
    command.insert(command.end(), more.begin(), more.end());
    return run_pippin(command);
  }
  Json report(const std::vector<std::string>& images, const std::string& prompt,
              std::vector<std::string> more = {}) const {
    const ProcessResult result = run(images, prompt, std::move(more));
    EXPECT_EQ(result.status, 0) << result.err;
    return Json::parse(result.out, "report");
  }
  // Expects one line on stderr with the file's name.
  void expect_fault(const std::string& file, const std::string& part) const {
    const ProcessResult result = run({file}, "w9 w16");
    EXPECT_NE(result.status, 0) << file;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_NE(result.err.find(file), std::string::npos) << result.err;
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  }
  std::string write(const std::string& name, const std::string& bytes) const {
    write_file(folder_ / name, bytes);
    return (folder_ / name).string();
  }

  static TempDir* source_;
  const WordsAndImages model_{source_->path(), "<image>"};
  TempDir folder_;
};
TempDir* Images::source_ = nullptr;

TEST_F(Images, ComeBeforeThePrompt) {
  const Json red = report({image("red.png")}, "w9 w16");
  std::vector<int32_t> expected(16, 30);  // 4 x 4 patches
  expected.insert(expected.end(), {9, 16});
  EXPECT_EQ(ids_of(red.at("prompt_ids")), expected);
  // Prompts may place them themselves.
  EXPECT_EQ(ids_of(report({image("red.png")}, "<image> w9 w16", {"--raw"}).at("ids")),
            ids_of(red.at("ids")));
  const Json both = report({image("red.png"), image("green.bmp")}, "w9");
  EXPECT_EQ(both.at("prompt_ids").size(), 33U);
}

// The next question about an image costs only its own tokens.
// As in LLaVA's first models.
TEST_F(Images, NeedNoTokenOfTheirOwn) {
  const WordsAndImages other(source_->path(), "<other>");
  const auto ids = [&](const std::string& model) {
    const auto result = run_pippin({"run", model, "--image", image("red.png"), "--raw", "--json",
                                    "w9 <image> w16", "--temperature", "0", "-n", "4"});
    EXPECT_EQ(result.status, 0) << result.err;
    return ids_of(Json::parse(result.out, "report").at("ids"));
  };
  EXPECT_EQ(ids(other.path()), ids(model_.path()));
}

TEST_F(Images, StayInPromptCaches) {
  const std::string cache = (folder_ / "cache").string();
  const Json first = report({image("red.png")}, "w9 w16", {"--prompt-cache", cache});
  const Json again = report({image("red.png")}, "w9 w16", {"--prompt-cache", cache});
  EXPECT_EQ(ids_of(again.at("ids")), ids_of(first.at("ids")));
  EXPECT_GE(again.at("statistics").get_int("cached_tokens"), 16);
  const Json other = report({image("green.bmp")}, "w9 w16", {"--prompt-cache", cache});
  EXPECT_EQ(other.at("statistics").get_int("cached_tokens"), 0);
  EXPECT_EQ(ids_of(other.at("ids")), ids_of(report({image("green.bmp")}, "w9 w16").at("ids")));
}

// Logits and comparisons take the prompt of `run --raw`; a model agrees with itself.
TEST_F(Images, AreInLogitsComparisonsAndMeasurements) {
  write_file(folder_ / "text", "w9 w16");
  const std::string text = (folder_ / "text").string(), out = (folder_ / "x.npz").string();
  const auto logits = run_pippin(
      {"logits", model_.path(), "w9 w16", "--image", image("red.png"), "-o", out, "--json"});
  ASSERT_EQ(logits.status, 0) << logits.err;
  const Json run = report({image("red.png")}, "w9 w16", {"--raw"});
  EXPECT_EQ(Json::parse(logits.out, "logits").get_int("next_id"), ids_of(run.at("ids")).front());
  EXPECT_EQ(golden_ids(NpzFile::open(out), "ids"), ids_of(run.at("prompt_ids")));

  const auto compared = run_pippin({"verify", model_.path(), "--against", model_.path(), "--image",
                                    image("red.png"), "--text", text, "--greedy", "4", "--json"});
  ASSERT_EQ(compared.status, 0) << compared.err;
  const Json agreement = Json::parse(compared.out, "verify");
  EXPECT_EQ(agreement.get_int("tokens"), 18);
  EXPECT_EQ(agreement.get_float("image_difference"), 0);
  EXPECT_LE(agreement.get_float("max_kl"), 1e-9);
  EXPECT_EQ(agreement.get_int("first_difference"), -1);

  const auto measured =
      run_pippin({"bench", model_.path(), "--image", image("red.png"), "-r", "2", "--json"});
  ASSERT_EQ(measured.status, 0) << measured.err;
  const Json times = Json::parse(measured.out, "bench");
  EXPECT_EQ(times.get_int("rows"), 16);
  EXPECT_GT(times.get_float("tower_seconds"), 0);
  EXPECT_GT(times.get_float("first_token_seconds"), 0);
  EXPECT_EQ(times.at("tower_samples").size(), 2U);
  const auto lines = run_pippin({"bench", model_.path(), "--image", image("red.png"), "-r", "1"});
  EXPECT_NE(lines.out.find("Tower         : "), std::string::npos) << lines.err;
  for (const char* command : {"bench", "logits", "verify"}) {
    std::vector<std::string> words = {command, "--image", image("red.png")};
    if (command != std::string("bench")) {
      const std::string demo = (source_dir() / "pippin/demo/model").string();
      words.push_back(demo);
      if (command == std::string("logits")) words.insert(words.end(), {"-o", out});
      if (command == std::string("verify")) words.insert(words.end(), {"--against", demo});
    }
    const auto refused = run_pippin(words);
    EXPECT_EQ(refused.status, 3) << command;
    EXPECT_NE(refused.err.find("red.png: the model takes text only"), std::string::npos)
        << refused.err;
  }
}

TEST_F(Images, ThatCannotBeReadAreOneLine) {
  expect_fault((folder_ / "absent.png").string(), "No such file");
  expect_fault(write("empty.png", ""), "");
  expect_fault(write("text.jpg", "This is not a picture.\n"), "");
  expect_fault(write("drawing.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>"), "");
  std::string truncated = read_file(image("red.png"));
  truncated.resize(truncated.size() / 2);
  expect_fault(write("truncated.png", truncated), "");
  // The header of a PNG of 60,000 x 60,000 pixels, without pixels.
  const std::string header("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\xea\x60\0\0\xea\x60\x08\x02\0\0\0",
                           29);
  expect_fault(write("large.png", header + std::string(64, '\0')), "");
}

TEST_F(Images, NeedAModelWithATower) {
  const auto result = run_pippin({"run", "--image", image("red.png"), "Hello", "-n", "2"});
  EXPECT_EQ(result.status, 3);
  EXPECT_NE(result.err.find("red.png: the model takes text only"), std::string::npos) << result.err;
}

TEST_F(Images, TextsMayNotHaveThePlaceholder) {
  const auto result = run({image("red.png")}, "w9 <image> w16");
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("does not write each of the 1 images once"), std::string::npos)
      << result.err;
}

TEST_F(Images, HaveAtMostTheRowsOfTheContext) {
  const auto result = run(std::vector<std::string>(9, image("red.png")), "w9");
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("have 144 rows, the context holds 128"), std::string::npos)
      << result.err;
}

// --- videos ---

constexpr const char* kRandomQwen = R"({
  "model_type": "qwen2_5_vl", "image_token_id": 30,
  "text_config": {"model_type": "qwen2_5_vl_text", "vocab_size": 32, "hidden_size": 16,
    "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 2, "max_position_embeddings": 128,
    "rope_scaling": {"type": "mrope", "mrope_section": [1, 1, 2]}},
  "vision_config": {"hidden_size": 8, "intermediate_size": 12, "num_heads": 2, "depth": 2,
    "patch_size": 4, "out_hidden_size": 16, "window_size": 16, "fullatt_block_indexes": [1],
    "tokens_per_second": 2}})";
constexpr const char* kQwenProcessor = R"({
  "image_processor_type": "Qwen2VLImageProcessor", "patch_size": 4, "merge_size": 2,
  "temporal_patch_size": 2, "min_pixels": 256, "max_pixels": 256})";

// Folders of frames of 16 x 16 pixels, two of which give 4 rows.
TEST(Videos, ArePairsOfFrames) {
  const TempDir source, folder;
  models::write_random_model(source.path(), kRandomQwen, [](const fs::path& path) {
    models::build(path, {.rows = true});
    models::VisionModel(path).build({{16, 96}, {1, 4, 4}});
  });
  write_file(source / "preprocessor_config.json", kQwenProcessor);
  const WordsAndImages model(source.path(), "<|image_pad|>");
  const auto frames = [&](const char* name, const std::vector<uint8_t>& levels) {
    fs::create_directory(folder / name);
    for (size_t i = 0; i < levels.size(); ++i) {
      write_picture(folder / name / (std::to_string(i + 9) + ".png"),
                    plain_picture(levels[i], 90, 16, 16));
    }
    return (folder / name).string();
  };
  const auto run = [&](const std::string& option, const std::string& path,
                       std::vector<std::string> more = {}) {
    std::vector<std::string> command = {"run",    model.path(),    option, path, "w9 w16",
                                        "--json", "--temperature", "0",    "-n", "8"};
    command.insert(command.end(), more.begin(), more.end());
    return run_pippin(command);
  };
  const auto report = [&](const std::string& option, const std::string& path,
                          std::vector<std::string> more = {}) {
    const ProcessResult result = run(option, path, std::move(more));
    EXPECT_EQ(result.status, 0) << result.err;
    return Json::parse(result.out, "report");
  };
  // Two equal frames are a picture.
  const Json still = report("--video", frames("still", {200, 200}));
  const Json picture = report("--image", folder / "still" / "9.png");
  EXPECT_EQ(ids_of(still.at("prompt_ids")), ids_of(picture.at("prompt_ids")));
  EXPECT_EQ(ids_of(still.at("ids")), ids_of(picture.at("ids")));
  std::vector<int32_t> expected(8, 30);
  expected.insert(expected.end(), {9, 16});
  const std::string moving = frames("moving", {200, 20, 90});
  EXPECT_EQ(ids_of(report("--video", moving).at("prompt_ids")), expected);
  const auto fault = [&](const std::string& path, const std::string& text) {
    const ProcessResult result = run("--video", path);
    EXPECT_NE(result.status, 0);
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
  };
  fault((folder / "still" / "9.png").string(), "9.png: one picture, a video has several frames");
  fault(frames("none", {}), "the folder has no frames of a video");
  fault(frames("one", {1}), "a video of 1 frames, expected 2 to");
  write_picture(folder / "moving" / "12.png", plain_picture(1, 1, 8, 16));
  fault(moving, "frame 3 has 8 x 16 pixels, the first one 16 x 16");
}

TEST_F(Images, MayNotBeVideosForThisModel) {
  const auto result = run_pippin({"run", model_.path(), "--video", folder_.path().string(), "w9"});
  EXPECT_NE(result.status, 0);
  EXPECT_NE(result.err.find("the folder has no frames"), std::string::npos) << result.err;
  write_picture(folder_ / "1.png", plain_picture(1, 1));
  write_picture(folder_ / "2.png", plain_picture(1, 1));
  const auto other = run_pippin({"run", model_.path(), "--video", folder_.path().string(), "w9"});
  EXPECT_EQ(other.status, 3);
  EXPECT_NE(other.err.find("videos are not supported for this model"), std::string::npos)
      << other.err;
}

}  // namespace
}  // namespace pippin
