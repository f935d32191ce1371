// pippin run with images, on the models with pictures of the shared data: a prompt in words gives
// the ids of the golden file, and so must the answer.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/json.h"
#include "pippin/io/npz.h"
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
                   token + "{% else %} {{ part.text }} {% endif %}{% endfor %}{% endfor %}");
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

struct PictureModel {
  const char* name;
  const char* token;  // that the rule of prompts repeats for rows, and that stands for an image
};

class RunImages : public testing::TestWithParam<PictureModel> {};

TEST_P(RunImages, AnswersAsTheGoldenDoes) {
  PIPPIN_SHARED_OR_SKIP(source, std::string("models2026/vlm/") + GetParam().name);
  const WordsAndImages model(source, GetParam().token);
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
      words += GetParam().token;
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

INSTANTIATE_TEST_SUITE_P(Models, RunImages,
                         testing::Values(PictureModel{"llava", "<image>"},
                                         PictureModel{"llava_next", "<image>"},
                                         PictureModel{"llava_onevision", "<image>"},
                                         PictureModel{"qwen2_vl", "<|image_pad|>"},
                                         PictureModel{"qwen2_5_vl", "<|image_pad|>"},
                                         PictureModel{"qwen3_vl", "<|image_pad|>"},
                                         PictureModel{"qwen3_5_vl", "<|image_pad|>"},
                                         PictureModel{"glm4v", "<|image|>"}),
                         [](const auto& info) { return std::string(info.param.name); });

class ImageFaults : public testing::Test {
 protected:
  void SetUp() override {
    PIPPIN_SHARED_OR_SKIP(source, "models2026/vlm/llava");
    model_ = std::make_unique<WordsAndImages>(source, "<image>");
  }
  ProcessResult run(const std::string& image, const std::string& prompt = "w9 w16") const {
    return run_pippin({"run", model_->path(), "--image", image, prompt, "-n", "2"});
  }
  // Expects one line on stderr with the file's name.
  void expect_fault(const std::string& image, const std::string& part) const {
    const ProcessResult result = run(image);
    EXPECT_EQ(result.status, 1) << image;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_NE(result.err.find(image), std::string::npos) << result.err;
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  }
  std::string write(const std::string& name, const std::string& bytes) {
    write_file(folder_ / name, bytes);
    return (folder_ / name).string();
  }

  std::unique_ptr<WordsAndImages> model_;
  TempDir folder_;
};

TEST_F(ImageFaults, AreOneLine) {
  expect_fault((folder_ / "absent.png").string(), "No such file");
  expect_fault(write("empty.png", ""), "");
  expect_fault(write("text.jpg", "This is not a picture.\n"), "");
  expect_fault(write("drawing.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>"), "");
  std::string truncated = read_file(model_->file("image0.png"));
  truncated.resize(truncated.size() / 2);
  expect_fault(write("truncated.png", truncated), "");
  // The header of a PNG of 60,000 x 60,000 pixels, without pixels.
  const std::string header("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\xea\x60\0\0\xea\x60\x08\x02\0\0\0",
                           29);
  expect_fault(write("large.png", header + std::string(64, '\0')), "");
}

TEST_F(ImageFaults, OfModelsWithoutTower) {
  const auto result =
      run_pippin({"run", "--image", model_->file("image0.png"), "Hello", "-n", "2"});
  EXPECT_EQ(result.status, 3);
  EXPECT_NE(result.err.find("the model takes text only"), std::string::npos) << result.err;
}

TEST_F(ImageFaults, ATextMayNotHaveThePlaceholder) {
  const auto result = run(model_->file("image0.png"), "w9 <image> w16");
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("does not write each of the 1 images once"), std::string::npos)
      << result.err;
}

}  // namespace
}  // namespace pippin
