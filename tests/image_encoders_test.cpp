// pippin embed --image and pippin predict --image: the vectors and labels of transformers 5, and
// models with random weights.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/image/picture.h"
#include "pippin/io/json.h"
#include "pippin/io/npz.h"
#include "tests/failed_process.h"
#include "tests/image_encoder_folders.h"
#include "tests/process.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using Vector = std::vector<double>;
using Command = std::vector<std::string>;

Vector numbers_of(const Json& list) {
  Vector numbers;
  for (const double x : list.as_floats()) numbers.push_back(x);
  return numbers;
}

std::vector<Vector> rows_of(const NpyArray& array) {
  const std::vector<double> all = array.to_doubles();
  const size_t count = array.shape.at(0), width = all.size() / count;
  std::vector<Vector> rows;
  for (size_t row = 0; row < count; ++row) {
    rows.emplace_back(all.begin() + static_cast<int64_t>(row * width),
                      all.begin() + static_cast<int64_t>((row + 1) * width));
  }
  return rows;
}

void expect_near(const Vector& found, const Vector& expected, double bound) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], bound) << i;
}

Json json_of(const Command& command) {
  const ProcessResult result = run_pippin(command);
  EXPECT_EQ(result.status, 0) << result.err;
  return Json::parse(result.status == 0 ? result.out : "{}", "report");
}

// One line on stderr with this part.
void expect_line(const Command& command, int status, const std::string& part) {
  expect_failure(run_pippin(command), status, part);
}

// A copy of a golden folder with a tokenizer whose words are ids; w1 fills texts.
class WordFolder {
 public:
  explicit WordFolder(const fs::path& source) {
    for (const auto& entry : fs::directory_iterator(source)) {
      fs::create_symlink(entry.path(), folder_ / entry.path().filename());
    }
    testing_models::write_word_tokenizer(folder_.path(), 160);
    write_file(folder_ / "tokenizer_config.json", R"({"pad_token": "w1"})");
  }
  std::string path() const { return folder_.path().string(); }
  std::string image(int number) const {
    return (folder_ / ("image" + std::to_string(number) + ".png")).string();
  }

 private:
  TempDir folder_;
};

// Without padding at the end.
std::string words_of_row(const Vector& ids) {
  size_t length = ids.size();
  while (length > 1 && ids[length - 1] == 1) --length;
  std::string text;
  for (size_t i = 0; i < length; ++i) text += "w" + std::to_string(std::lrint(ids[i])) + " ";
  return text;
}

// Pixels may differ by a level of 8 bits.
constexpr double kPixelBound = 5e-3;

TEST(ImageEncoders, EmbedTextsAndImagesInOneSpace) {
  for (const char* name : {"aimv2_lit", "clip", "metaclip2", "siglip", "siglip_b"}) {
    SCOPED_TRACE(name);
    PIPPIN_SHARED_OR_SKIP(source, std::string("models2026/enc/") + name);
    const WordFolder model(source);
    const NpzFile golden = NpzFile::open(source / "golden.npz");
    const auto texts = rows_of(golden.read("text_embeds"));
    const auto images = rows_of(golden.read("image_embeds"));
    Command command = {"embed", model.path(), "--json"};
    for (const Vector& ids : rows_of(golden.read("input_ids"))) {
      command.push_back(words_of_row(ids));
    }
    command.insert(command.end(), {"--image", model.image(0), "--image", model.image(1)});
    const Json made = json_of(command).at("embeddings");
    ASSERT_EQ(made.size(), texts.size() + images.size());
    for (size_t i = 0; i < made.size(); ++i) {
      SCOPED_TRACE(i);
      const bool is_text = i < texts.size();
      expect_near(numbers_of(made.at(i)), is_text ? texts[i] : images[i - texts.size()],
                  is_text ? 2e-5 : kPixelBound);
    }
    // Labels in words.
    Vector logits = rows_of(golden.read("logits_per_image")).front();
    const bool is_softmax = std::string(name).find("siglip") == std::string::npos;
    double sum = 0;
    for (double& x : logits) sum += x = is_softmax ? std::exp(x) : 1 / (1 + std::exp(-x));
    command = {"predict", model.path(), "--json", "--image", model.image(0)};
    for (const Vector& ids : rows_of(golden.read("input_ids"))) {
      command.insert(command.end(), {"--label", words_of_row(ids)});
    }
    const Json labels = json_of(command).at("images").at(size_t{0}).at("labels");
    ASSERT_EQ(labels.size(), logits.size());
    for (const Json& label : labels.elements()) {
      EXPECT_NEAR(label.get_float("probability"),
                  logits.at(static_cast<size_t>(label.get_int("index"))) / (is_softmax ? sum : 1),
                  4 * kPixelBound);
    }
  }
}

TEST(ImageEncoders, EmbedImagesAlone) {
  for (const char* name : {"aimv2", "dinov2", "dinov3_convnext"}) {
    SCOPED_TRACE(name);
    PIPPIN_SHARED_OR_SKIP(model, std::string("models2026/enc/") + name);
    const auto golden = rows_of(NpzFile::open(model / "golden.npz").read("pooler_output"));
    const Json made =
        json_of({"embed", model.string(), "--json", "--image", (model / "image0.png").string(),
                 "--image", (model / "image1.png").string()})
            .at("embeddings");
    for (size_t i = 0; i < golden.size(); ++i) {
      expect_near(numbers_of(made.at(i)), golden[i], 4 * kPixelBound);
    }
  }
}

TEST(ImageEncoders, ClassifyAsTransformersDo) {
  for (const char* name : {"beit_cls", "convnext", "dinov2_reg", "mobilenet_v2"}) {
    SCOPED_TRACE(name);
    PIPPIN_SHARED_OR_SKIP(model, std::string("models2026/enc/") + name);
    Vector logits = rows_of(NpzFile::open(model / "golden.npz").read("logits")).front();
    double sum = 0;
    for (double& x : logits) sum += x = std::exp(x);
    for (double& x : logits) x /= sum;
    const Json report =
        json_of({"predict", model.string(), "--json", "--image", (model / "image0.png").string()});
    const Json labels = report.at("images").at(size_t{0}).at("labels");
    ASSERT_EQ(labels.size(), logits.size());
    for (const Json& label : labels.elements()) {
      const auto index = static_cast<size_t>(label.get_int("index"));
      EXPECT_EQ(label.get_string("label"), "LABEL_" + std::to_string(index));
      EXPECT_NEAR(label.get_float("probability"), logits.at(index), kPixelBound);
    }
  }
}

// Planes of the first image of a golden.
Vector first_of(const NpyArray& array) {
  const Vector all = array.to_doubles();
  return {all.begin(), all.begin() + static_cast<int64_t>(all.size() / array.shape.at(0))};
}

TEST(ImageEncoders, MapImagesAsTransformersDo) {
  for (const auto& [folder, name] :
       {std::pair("segformer", "logits"), std::pair("depth_anything", "predicted_depth")}) {
    SCOPED_TRACE(folder);
    PIPPIN_SHARED_OR_SKIP(model, std::string("models2026/enc/") + folder);
    const TempDir out;
    const std::string image = (model / "image0.png").string();
    const NpyArray stored = NpzFile::open(model / "golden.npz").read(name);
    const Json report = json_of({"predict", model.string(), "--json", "--image", image, "--output",
                                 (out / "out.npz").string()})
                            .at("images")
                            .at(size_t{0});
    const NpyArray map = NpzFile::open(out / "out.npz").read(name);
    EXPECT_EQ(map.shape.at(0), 1);
    EXPECT_EQ(std::vector(map.shape.begin() + 1, map.shape.end()),
              std::vector(stored.shape.begin() + 1, stored.shape.end()));
    expect_near(map.to_doubles(), first_of(stored), 4 * kPixelBound);
    EXPECT_EQ(report.get_int("width"), map.shape.back());
    if (report.has("labels")) {
      double all = 0;
      for (const Json& label : report.at("labels").elements()) all += label.get_float("share");
      EXPECT_NEAR(all, 1, 1e-9);
    } else {
      EXPECT_GE(report.at("depth").get_float("most"), report.at("depth").get_float("mean"));
    }
    // As a package, in fp16, of an image that needs no resizing.
    const int64_t side = name == std::string("logits") ? 64 : 32;
    Picture picture{side, side, 3, {}};
    for (int64_t i = 0; i < side * side * 3; ++i) {
      picture.pixels.push_back(static_cast<uint8_t>(i * 37 % 251));
    }
    const std::string own = (out / "own.png").string(), package = (out / "x.mlpackage").string();
    write_picture(own, picture);
    const auto output = [&](const char* file) { return (out / file).string(); };
    ASSERT_EQ(run_pippin({"convert", model.string(), "-o", package}).status, 0);
    ASSERT_EQ(run_pippin({"predict", package, "--input", "image=" + own, "--output",
                          output("package.npz")})
                  .status,
              0);
    ASSERT_EQ(
        run_pippin({"predict", model.string(), "--image", own, "--output", output("folder.npz")})
            .status,
        0);
    const NpyArray of_folder = NpzFile::open(out / "folder.npz").read(name);
    const NpyArray of_package = NpzFile::open(out / "package.npz").read(name);
    EXPECT_EQ(of_package.shape, of_folder.shape);
    expect_near(of_package.to_doubles(), of_folder.to_doubles(), 0.02);
    expect_line({"embed", model.string(), "--image", image}, 3, "gives a map of an image");
  }
}

// Models with random weights, and a picture.
class RandomImageEncoders : public testing::Test {
 protected:
  void SetUp() override {
    Picture picture{12, 9, 3, {}};
    for (int i = 0; i < 12 * 9 * 3; ++i) {
      picture.pixels.push_back(static_cast<uint8_t>(i * 37 % 251));
    }
    write_picture(folder_ / "a.png", picture);
    for (const char* name : {"clip", "classifier", "vit"}) fs::create_directory(folder_ / name);
    testing_models::write_random_clip(folder_ / "clip");
    testing_models::write_random_vit(folder_ / "classifier", true);
    testing_models::write_random_vit(folder_ / "vit", false);
  }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }

  TempDir folder_;
};

TEST_F(RandomImageEncoders, GiveTheirVectors) {
  const Json made = json_of({"embed", at("clip"), "w3 w19", "w4 w19", "--image", at("a.png"),
                             "--image", at("a.png"), "--json"});
  ASSERT_EQ(made.at("embeddings").size(), 4U);
  for (const Json& vector : made.at("embeddings").elements()) {
    double squares = 0;
    for (const double x : numbers_of(vector)) squares += x * x;
    EXPECT_NEAR(squares, 1, 1e-5);
  }
  EXPECT_EQ(made.get_int("tokens"), 4);
  const auto alone = run_pippin({"embed", at("clip"), "--image", at("a.png")});
  EXPECT_EQ(alone.out, made.at("embeddings").at(size_t{2}).dump() + "\n");
  // As sentence-transformers saves it.
  fs::create_directory(folder_ / "saved");
  fs::create_directory_symlink(folder_ / "clip", folder_ / "saved" / "0_CLIPModel");
  write_file(folder_ / "saved" / "modules.json",
             R"([{"idx": 0, "path": "0_CLIPModel", "type": "x.models.CLIPModel"}])");
  const auto saved = run_pippin({"embed", at("saved"), "w3 w19", "--image", at("a.png")});
  EXPECT_EQ(saved.out, made.at("embeddings").at(size_t{0}).dump() + "\n" + alone.out) << saved.err;
  const Json shorter =
      json_of({"embed", at("vit"), "--image", at("a.png"), "--dimensions", "3", "--json"});
  EXPECT_EQ(shorter.at("embeddings").at(size_t{0}).size(), 3U);
}

// Images of any size, and texts in lower case, also from a package.
TEST_F(RandomImageEncoders, TakeImagesOfAnySize) {
  fs::create_directory(folder_ / "siglip2");
  testing_models::write_random_siglip2(folder_ / "siglip2");
  Picture tall{3, 20, 3, {}};
  for (int i = 0; i < 3 * 20 * 3; ++i) tall.pixels.push_back(static_cast<uint8_t>(i * 41 % 251));
  write_picture(folder_ / "tall.png", tall);
  const Json made = json_of({"embed", at("siglip2"), "w3 w19", "W3 W19", "w4", "--image",
                             at("a.png"), "--image", at("tall.png"), "--json"})
                        .at("embeddings");
  ASSERT_EQ(made.size(), 5U);
  std::vector<Vector> vectors;
  for (const Json& vector : made.elements()) {
    double squares = 0;
    for (const double x : vectors.emplace_back(numbers_of(vector))) squares += x * x;
    EXPECT_NEAR(squares, 1, 1e-5);
    EXPECT_EQ(vectors.back().size(), 6U);
  }
  EXPECT_EQ(vectors[0], vectors[1]);
  EXPECT_NE(vectors[0], vectors[2]);
  EXPECT_NE(vectors[3], vectors[4]);
  const auto written = run_pippin({"convert", at("siglip2"), "-o", at("texts.mlpackage")});
  ASSERT_EQ(written.status, 0) << written.err;
  const Json texts = json_of({"embed", at("texts.mlpackage"), "W3 w19", "--json"});
  expect_near(numbers_of(texts.at("embeddings").at(size_t{0})), vectors[0], 5e-3);
}

TEST_F(RandomImageEncoders, GiveTheirLabels) {
  const auto table = run_pippin({"predict", at("classifier"), "--image", at("a.png")});
  EXPECT_EQ(table.status, 0) << table.err;
  EXPECT_EQ(std::count(table.out.begin(), table.out.end(), '\n'), 3);
  const Json report = json_of({"predict", at("classifier"), "--image", at("a.png"), "--image",
                               at("a.png"), "--json", "--top", "2"});
  ASSERT_EQ(report.at("images").size(), 2U);
  const Json labels = report.at("images").at(size_t{1}).at("labels");
  ASSERT_EQ(labels.size(), 2U);
  const double first = labels.at(size_t{0}).get_float("probability");
  EXPECT_GE(first, labels.at(size_t{1}).get_float("probability"));
  EXPECT_NE(table.out.find(labels.at(size_t{0}).get_string("label")), std::string::npos);
}

// A package of a classifier has its labels, and scales pixels as the processor does.
TEST_F(RandomImageEncoders, BecomeClassifiers) {
  Picture picture{8, 8, 3, {}};
  for (int i = 0; i < 8 * 8 * 3; ++i) picture.pixels.push_back(static_cast<uint8_t>(i * 41 % 251));
  write_picture(folder_ / "small.png", picture);
  const auto made = run_pippin({"convert", at("classifier"), "-o", at("x.mlpackage")});
  ASSERT_EQ(made.status, 0) << made.err;
  const Json outputs =
      json_of({"predict", at("x.mlpackage"), "--input", "image=" + at("small.png"), "--json"})
          .at("outputs");
  const Json labels = json_of({"predict", at("classifier"), "--image", at("small.png"), "--json"})
                          .at("images")
                          .at(size_t{0})
                          .at("labels");
  const std::string text = outputs.dump();
  EXPECT_NE(text.find("\"" + labels.at(size_t{0}).get_string("label") + "\""), std::string::npos)
      << text;
  const auto csv = run_pippin({"predict", at("x.mlpackage"), "--input", "image=" + at("small.png"),
                               "--output", at("x.json")});
  ASSERT_EQ(csv.status, 0) << csv.err;
  const std::string values = read_file(folder_ / "x.json");
  for (const Json& label : labels.elements()) {
    const size_t at_name = values.find("\"" + label.get_string("label") + "\":");
    ASSERT_NE(at_name, std::string::npos) << values;
    const double found = std::stod(values.substr(values.find(':', at_name) + 1));
    EXPECT_NEAR(found, label.get_float("probability"), 2e-3);
  }
}

TEST_F(RandomImageEncoders, SayWhatTheyCannotDo) {
  const std::string image = at("a.png");
  expect_line({"embed", at("vit"), "a text"}, 3, "this model takes images, not texts");
  expect_line({"embed", at("classifier"), "--image", image}, 3, "pippin predict --image");
  expect_line({"predict", at("vit"), "--image", image}, 3, "is not a classifier");
  expect_line({"predict", at("classifier"), "--image", image, "--output", at("x.npz")}, 3,
              "gives no maps of images");
  expect_line({"predict", at("vit"), "--image", image, "--label", "a"}, 3,
              "takes images, not texts");
  write_file(folder_ / "bad.png", "not a picture");
  expect_line({"embed", at("vit"), "--image", at("bad.png")}, 1, at("bad.png"));
  fs::remove(folder_ / "vit" / "preprocessor_config.json");
  expect_line({"embed", at("vit"), "--image", image}, 1, "preprocessor_config.json");
  write_file(folder_ / "vit" / "config.json", R"({"model_type": "bert"})");
  expect_line({"embed", at("vit"), "--image", image}, 3, "this model takes no images");
}

}  // namespace
}  // namespace pippin
