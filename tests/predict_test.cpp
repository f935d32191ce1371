// pippin predict from a user's view: files in, files out, errors of one line.

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/image/picture.h"
#include "pippin/io/json.h"
#include "pippin/io/npz.h"
#include "pippin/mil/package/interface.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/proto/wire_testing.h"
#include "pippin/mil/text/text.h"
#include "tests/failed_process.h"
#include "tests/process.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

// y = x + 0.5 over fp32 [1, 3].
const std::string kAddHalf = source_dir().string() + "/tests/install/add_half.mlmodelc";
const std::string kPictures = source_dir().string() + "/fuzz/corpus/image/";

ProcessResult predict(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "predict");
  return run_pippin(arguments);
}

template <typename T>
NpyArray array(const std::vector<T>& values, std::vector<int64_t> shape) {
  return NpyArray::from(std::span<const T>(values), std::move(shape));
}

// A model whose program is one function.
mil::Model model_of(const std::string& inputs, const std::string& statements,
                    const std::string& outputs) {
  return mil::describe_program(mil::parse_text("program(1.3)\n{\n    func main<ios18>(" + inputs +
                                                   ") {\n" + statements + "        } -> (" +
                                                   outputs + ");\n}\n",
                                               "test"));
}

class PredictTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  TempDir folder_;
};

TEST_F(PredictTest, FromArchiveToArchive) {
  write_npz(path("in.npz"), {{"x", array<float>({1, 2, 3}, {1, 3})}});
  const auto result = predict({kAddHalf, "--input", path("in.npz"), "--output", path("out.npz")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out + result.err, "");
  const NpzFile out = NpzFile::open(path("out.npz"));
  EXPECT_EQ(out.names(), std::vector<std::string>{"y"});
  EXPECT_EQ(out.read("y").type, NpyType::F32);
  EXPECT_EQ(out.read("y").shape, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(out.read("y").to_floats(), (std::vector<float>{1.5, 2.5, 3.5}));
}

TEST_F(PredictTest, SingleArraysOfOtherTypesGoInWhereNothingIsLost) {
  write_npy(path("wide.npy"), array<double>({0.25, -1, 1e-3}, {1, 3}));
  const auto wide = predict({kAddHalf, "--input", "x=" + path("wide.npy")});
  EXPECT_EQ(wide.status, 0) << wide.err;
  EXPECT_EQ(wide.out, "y  float32 [1, 3]  [0.75, -0.5, 0.501]\n");
  write_npy(path("ints.npy"), array<int64_t>({1, 2, 16777217}, {1, 3}));
  expect_failure(predict({kAddHalf, "--input", "x=" + path("ints.npy")}), 1,
                 "input 'x': element 2 is 16777217, which float32 cannot hold; expected float32 "
                 "[1, 3]");
}

TEST_F(PredictTest, TheSeedMakesTheInputs) {
  const auto values = [&](const std::string& seed) {
    const auto result = predict({kAddHalf, "--random-inputs", seed, "--json"});
    EXPECT_EQ(result.status, 0) << result.err;
    return Json::parse(result.out, "out").at("outputs").at(0).get_floats("values");
  };
  const std::vector<double> expected = {1.04833984375, 1.0048828125, 1.42626953125};
  EXPECT_EQ(values("7"), expected);  // on every machine
  EXPECT_NE(values("8"), expected);
}

TEST_F(PredictTest, JsonSaysAll) {
  const auto result = predict(
      {kAddHalf, "--random-inputs", "1", "--json", "--repeat", "3", "--precision", "reference"});
  ASSERT_EQ(result.status, 0) << result.err;
  const Json report = Json::parse(result.out, "out");
  EXPECT_EQ(report.get_string("function"), "main");
  EXPECT_EQ(report.get_string("precision"), "reference");
  const Json output = report.at("outputs").at(0);
  EXPECT_EQ(output.get_string("name"), "y");
  EXPECT_EQ(output.get_string("dtype"), "float32");
  EXPECT_EQ(output.get_ints("shape"), (std::vector<int64_t>{1, 3}));
  const auto values = output.get_floats("values");
  EXPECT_EQ(output.get_float("max"), *std::max_element(values.begin(), values.end()));
  EXPECT_NEAR(output.get_float("mean"), (values[0] + values[1] + values[2]) / 3, 1e-12);
  const Json timings = report.at("timings");
  EXPECT_EQ(timings.at("run_seconds").size(), 3u);
  EXPECT_LE(timings.get_float("min_seconds"), timings.get_float("median_seconds"));
  EXPECT_LE(timings.get_float("median_seconds"), timings.get_float("max_seconds"));
}

TEST_F(PredictTest, ProfilesItsSteps) {
  const TempDir other;
  const std::string trace = (other / "trace.json").string();
  const auto result =
      predict({kAddHalf, "--random-inputs", "1", "--repeat", "3", "--profile", trace});
  ASSERT_EQ(result.status, 0) << result.err;
  const Json events = Json::load(trace).at("traceEvents");
  int64_t adds = 0;
  for (const Json& event : events.elements()) adds += event.get_string("name") == "add" ? 1 : 0;
  EXPECT_EQ(adds, 3);
  EXPECT_NE(result.err.find("add "), std::string::npos) << result.err;
  expect_failure(predict({kAddHalf, "--random-inputs", "1", "--profile", "absent/trace.json"}), 1,
                 "absent");
}

TEST_F(PredictTest, RepeatingIsTimed) {
  const auto result = predict({kAddHalf, "--random-inputs", "1", "--repeat", "3"});
  EXPECT_EQ(result.status, 0);
  for (const char* line : {"Load   : ", "First  : ", "Others : mean ", "Runs   : "}) {
    EXPECT_NE(result.err.find(line), std::string::npos) << result.err;
  }
  EXPECT_TRUE(result.out.starts_with("y  float32 [1, 3]  ["));
}

TEST_F(PredictTest, WrongUsageIsStatusTwo) {
  expect_failure(predict({}), 2, "PACKAGE");
  expect_failure(
      predict({kAddHalf, "--input", "in.txt"}), 2,
      "\"in.txt\" is neither FILE.npz, .json, .jsonl or .csv nor NAME=NUMBER nor NAME=FILE");
  expect_failure(predict({kAddHalf, "--input", "x=in.gif"}), 2, "x=in.gif");
  expect_failure(predict({kAddHalf, "--precision", "best"}), 2, "--precision");
  expect_failure(predict({kAddHalf, "--random-inputs", "-1"}), 2, "--random-inputs");
  expect_failure(predict({kAddHalf, "--shape", "x=1x3"}), 2, "--random-inputs");
  for (const char* shape : {"x", "=1x3", "x=1x", "x=1x-3", "x=axb", "x=x3"}) {
    expect_failure(predict({kAddHalf, "--random-inputs", "1", "--shape", shape}), 2, shape);
  }
  expect_failure(predict({kAddHalf, "--repeat", "0"}), 2, "--repeat");
  expect_failure(predict({kAddHalf, "--threads", "0"}), 2, "--threads");
}

TEST_F(PredictTest, WrongInputsSayWhatWasExpected) {
  expect_failure(predict({kAddHalf}), 1, "input 'x' is missing; expected float32 [1, 3]");
  expect_failure(predict({kAddHalf, "--function", "other", "--random-inputs", "1"}), 1,
                 "no function 'other'; the model's functions: main");
  write_npz(path("in.npz"), {{"x", array<float>({1, 2}, {1, 2})}});
  expect_failure(predict({kAddHalf, "--input", path("in.npz")}), 1,
                 "input 'x': shape [1, 2]; expected float32 [1, 3]");
  write_npy(path("z.npy"), array<float>({1}, {1}));
  expect_failure(predict({kAddHalf, "--input", path("in.npz"), "--input", "z=" + path("z.npy")}), 1,
                 "no input 'z'; the model's inputs: x (float32 [1, 3])");
  expect_failure(predict({kAddHalf, "--input", path("in.npz"), "--input", "x=" + path("z.npy")}), 1,
                 "input 'x' is given twice");
  expect_failure(predict({kAddHalf, "--input", "x=" + kPictures + "rgb.png"}), 1,
                 "input 'x': an image; expected float32 [1, 3]");
  expect_failure(predict({kAddHalf, "--input", path("none.npz")}), 1, "none.npz");
  write_file(path("bad.npz"), "no archive, but of some length");
  expect_failure(predict({kAddHalf, "--input", path("bad.npz")}), 1, "bad.npz: not a .npz file");
  expect_failure(predict({kAddHalf, "--random-inputs", "1", "--shape", "q=1"}), 1, "--shape q");
  expect_failure(predict({kAddHalf, "--random-inputs", "1", "--shape", "x=5"}), 1,
                 "input 'x': shape [5]; expected float32 [1, 3]");
  expect_failure(predict({kAddHalf, "--random-inputs", "1", "--shape", "x=3000000000x3000000000"}),
                 1, "has more than 2147483648 elements");
  expect_failure(predict({path("none.mlpackage"), "--random-inputs", "1"}), 1, "none.mlpackage");
}

TEST_F(PredictTest, NothingIsWrittenWhereItFails) {
  write_file(path("out.npz"), "old");
  expect_failure(predict({kAddHalf, "--output", path("out.npz")}), 1, "input 'x' is missing");
  EXPECT_EQ(read_file(path("out.npz")), "old");
  expect_failure(predict({kAddHalf, "--random-inputs", "1", "--output", path("no/folder/out.npz")}),
                 1, "no/folder");
}

TEST_F(PredictTest, WhatIsNotSupportedIsStatusThree) {
  write_file(path("words.mlmodel"), std::string("\x08\x02\x8a\x7d\x00", 5));
  expect_failure(predict({path("words.mlmodel")}), 3, "wordTagger");
  // An unsupported input file is not the package's fault.
  std::string npy = format_npy(array<float>({1, 2, 3}, {1, 3}));
  npy[npy.find("<f4")] = '>';
  write_file(path("big_endian.npy"), npy);
  expect_failure(predict({kAddHalf, "--input", "x=" + path("big_endian.npy")}), 1, ">f4");
}

TEST_F(PredictTest, PicturesBecomeImages) {
  mil::Model model = model_of(
      "tensor<fp32, [1, 3, 2, 3]> picture",
      "tensor<fp32, [1, 3, 2, 3]> y = add(x = picture, y = picture)[name = string(\"y\")];\n", "y");
  mil::Feature& feature = model.functions.at(0).inputs.at(0);
  feature.kind = mil::Feature::Kind::Image;
  feature.image.size = {3, 2};
  feature.image.color_space = mil::ColorSpace::Bgr;
  mil::write_package(model, path("image.mlpackage"));
  const std::string package = path("image.mlpackage");
  for (const char* file : {"rgb.png", "color.ppm", "bits24.bmp"}) {
    const auto result =
        predict({package, "--input", "picture=" + kPictures + file, "--output", path("out.npz")});
    ASSERT_EQ(result.status, 0) << result.err;
    // Blue, green, red of (255 0 1) (2 128 3) (4 5 250) / (6 7 8) (9 10 11) (12 13 14), twice.
    EXPECT_EQ(NpzFile::open(path("out.npz")).read("y").to_floats(),
              (std::vector<float>{2, 6, 500, 16, 22, 28, 0, 256, 10,  //
                                  14, 20, 26, 510, 4, 8, 12, 18, 24}));
  }
  write_file(path("small.ppm"), std::string("P6 1 1 255\nabc"));
  expect_failure(predict({package, "--input", "picture=" + path("small.ppm")}), 1,
                 "input 'picture': an image of 1 x 1 pixels; expected image BGR 3 x 2");
  expect_failure(predict({package, "--input", "picture=" + kPictures + "deep.png"}), 1,
                 "16 bits a channel");
  EXPECT_EQ(predict({package, "--random-inputs", "3"}).status, 0);
}

// The picture, the same with the other order of channels, and both as float16 arrays.
mil::Model picture_model() {
  mil::Model model =
      model_of("tensor<fp32, [1, 3, 2, 3]> picture",
               "tensor<fp32, [1, 3, 2, 3]> same = identity(x = picture)[name = string(\"same\")];\n"
               "tensor<fp32, [1, 3, 2, 3]> half = mul(x = picture, y = fp32(0.5))[name = "
               "string(\"half\")];\n",
               "same, half");
  for (mil::Feature* feature :
       {&model.functions.at(0).inputs.at(0), &model.functions.at(0).outputs.at(0)}) {
    feature->kind = mil::Feature::Kind::Image;
    feature->image.size = {3, 2};
    feature->image.color_space = mil::ColorSpace::Bgr;
  }
  return model;
}

TEST_F(PredictTest, OutputsHaveTheFormOfTheirName) {
  const std::string package = path("image.mlpackage");
  mil::write_package(picture_model(), package);
  const std::vector<uint8_t> colors = read_picture(kPictures + "rgb.png").pixels;
  const auto written = [&](const std::vector<std::string>& outputs) {
    std::vector<std::string> arguments = {package, "--input", "picture=" + kPictures + "rgb.png"};
    for (const std::string& output : outputs) {
      arguments.insert(arguments.end(), {"-o", output});
    }
    return predict(arguments);
  };
  // The image is the only output that a picture file can hold.
  for (const char* name : {"y.png", "y.bmp", "y.ppm"}) {
    ASSERT_EQ(written({path(name)}).status, 0);
    EXPECT_EQ(read_picture(path(name)).pixels, colors) << name;
  }
  ASSERT_EQ(written({path("y.jpg"), "half=" + path("h.npy"), path("all.json")}).status, 0);
  EXPECT_TRUE(read_file(path("y.jpg")).starts_with("\xff\xd8\xff"));
  EXPECT_EQ(read_npy(path("h.npy")).shape, (std::vector<int64_t>{1, 3, 2, 3}));
  const Json json = Json::load(path("all.json"));
  EXPECT_EQ(json.at("outputs").at(size_t{0}).get_string("name"), "same");
  EXPECT_EQ(json.at("outputs").at(size_t{1}).at("values").as_floats(),
            read_npy(path("h.npy")).to_doubles());

  expect_failure(written({path("y.gif")}), 2,
                 "y.gif\" is neither FILE.npz, .json, .jsonl or .csv nor");
  expect_failure(written({path("y")}), 2, "is neither FILE.npz");
  expect_failure(written({path("y.npy")}), 1, "holds one of 2 outputs; name it");
  expect_failure(written({"half=" + path("h.png")}), 1, "the output 'half' is not an image");
  expect_failure(written({"none=" + path("h.npy")}), 1, "unknown output 'none'");
  expect_failure(predict({kAddHalf, "--random-inputs", "1", "-o", path("h.png")}), 1,
                 "the model has no image output");
  expect_failure(predict({kAddHalf, "--random-inputs", "1", "--state-out", path("s.npy")}), 2,
                 "does not end in .npz");
  for (const char* name : {"y.gif", "y.npy", "h.png"}) EXPECT_FALSE(fs::exists(path(name)));
}

TEST_F(PredictTest, PicturesOfOtherSizesAreFitted) {
  const std::string package = path("image.mlpackage");
  mil::write_package(picture_model(), package);
  write_file(path("wide.ppm"), std::string("P6 6 2 255\n") + std::string(36, '\x50'));
  const auto fitted = [&](const std::string& how) {
    const auto result = predict(
        {package, "--input", "picture=" + path("wide.ppm"), "--resize", how, "-o", path("y.ppm")});
    EXPECT_EQ(result.status, 0) << result.err;
    return read_picture(path("y.ppm")).pixels;
  };
  const std::vector<uint8_t> whole(18, 0x50);
  std::vector<uint8_t> bordered = whole;
  std::fill_n(bordered.begin() + 9, 9, 0);  // half the height is empty
  EXPECT_EQ(fitted("stretch"), whole);
  EXPECT_EQ(fitted("scaleFill"), whole);
  EXPECT_EQ(fitted("fill"), whole);
  EXPECT_EQ(fitted("centerCrop"), whole);
  EXPECT_EQ(fitted("fit"), bordered);
  EXPECT_EQ(fitted("scaleFit"), bordered);
  expect_failure(
      predict({package, "--input", "picture=" + path("wide.ppm")}), 1,
      "an image of 6 x 2 pixels; expected image BGR 3 x 2 (--resize fit, fill or stretch");
  expect_failure(predict({package, "--input", "picture=" + path("wide.ppm"), "--resize", "x"}), 2,
                 "--resize");
}

TEST_F(PredictTest, EndlessLoopsMeetTheirLimit) {
  mil::write_package(
      model_of("tensor<fp32, [1]> x",
               "tensor<fp32, [1]> w = while_loop(loop_vars = (x))[name = string(\"w\")]\n"
               "    (tensor<fp32, [1]> a) {\n"
               "        bool go = const()[name = string(\"go\"), val = bool(true)];\n"
               "    } -> (go)\n"
               "    (tensor<fp32, [1]> b) {\n"
               "        tensor<fp32, [1]> c = add(x = b, y = b)[name = string(\"c\")];\n"
               "    } -> (c);\n",
               "w"),
      path("loop.mlpackage"));
  expect_failure(
      predict({path("loop.mlpackage"), "--random-inputs", "1", "--max-iterations", "100"}), 1,
      "100");
}

TEST_F(PredictTest, StagesOfAPipelineRunInOrder) {
  mil::Model pipeline;
  pipeline.kind = mil::ModelKind::Pipeline;
  pipeline.functions.push_back({.name = "main"});
  for (const char* statement : {"y = add(x = x, y = x)", "z = mul(x = y, y = y)"}) {
    const std::string text = statement, input(1, text[0] == 'y' ? 'x' : 'y'), output(1, text[0]);
    pipeline.stages.push_back(
        {"", model_of("tensor<fp32, [2]> " + input,
                      "tensor<fp32, [2]> " + text + "[name = string(\"op\")];\n", output)});
  }
  pipeline.functions[0].inputs = pipeline.stages[0].model.functions.at(0).inputs;
  pipeline.functions[0].outputs = pipeline.stages[1].model.functions.at(0).outputs;
  mil::write_package(pipeline, path("pipeline.mlpackage"));
  write_npy(path("x.npy"), array<float>({1, -3}, {2}));
  const auto result = predict({path("pipeline.mlpackage"), "--input", "x=" + path("x.npy")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, "z  float32 [2]  [4, 36]\n");
}

TEST_F(PredictTest, ClassifiersGiveALabelAndProbabilities) {
  mil::Model model = model_of(
      "tensor<fp32, [3]> x",
      "list<string, 3> classes = const()[name = string(\"classes\"), val = list<string, "
      "3>((\"ant\", \"bee\", \"caf\xc3\xa9\"))];\n"
      "string label, dict<string, fp64> odds = classify(classes = classes, probabilities = "
      "x)[name = string(\"c\")];\n",
      "label, odds");
  mil::FunctionDescription& description = model.functions.at(0);
  description.predicted_feature_name = "label";
  description.predicted_probabilities_name = "odds";
  mil::write_package(model, path("classifier.mlpackage"));
  write_npy(path("x.npy"), array<float>({0.25, 0.125, 0.625}, {3}));
  const std::vector<std::string> arguments = {path("classifier.mlpackage"), "--input",
                                              "x=" + path("x.npy")};
  EXPECT_EQ(predict(arguments).out,
            "label  string [1]  [\"caf\xc3\xa9\"]\n"
            "odds   dictionary of 3  caf\xc3\xa9: 0.625  ant: 0.25  bee: 0.125\n");

  auto with_json = arguments;
  with_json.emplace_back("--json");
  const Json report = Json::parse(predict(with_json).out, "out");
  EXPECT_EQ(report.at("outputs").at(0).get_strings("values"),
            std::vector<std::string>{"caf\xc3\xa9"});
  EXPECT_EQ(report.at("outputs").at(1).at("values").get_float("bee"), 0.125);

  auto with_output = arguments;
  with_output.insert(with_output.end(), {"--output", path("out.npz")});
  EXPECT_EQ(predict(with_output).status, 0);
  const NpzFile out = NpzFile::open(path("out.npz"));
  EXPECT_EQ(out.names(), (std::vector<std::string>{"label", "odds", "odds_keys"}));
  EXPECT_EQ(out.read("odds").to_doubles(), (std::vector<double>{0.25, 0.125, 0.625}));
  EXPECT_NE(read_file(path("out.npz")).find("'<U4', 'fortran_order': False, 'shape': (3,)"),
            std::string::npos);
}

TEST_F(PredictTest, GlmsAndSuppressionRunLikePrograms) {
  namespace wire = mil::wire;
  write_file(path("glm.mlmodel"),
             wire::model(wire::description({{"a", wire::double_type()}, {"b", wire::int64_type()}},
                                           {{"y", wire::double_type()}}, "y"),
                         300, wire::linear_model({{1, 2}}, {0.1})));
  write_npy(path("a.npy"), array<double>({1}, {1}));
  write_npy(path("b.npy"), array<int64_t>({1}, {1}));
  const auto glm = predict(
      {path("glm.mlmodel"), "--input", "a=" + path("a.npy"), "--input", "b=" + path("b.npy")});
  EXPECT_EQ(glm.out, "y  float64 [1]  [3.1]\n") << glm.err;

  const std::vector<wire::Feature> boxes = {{"scores", wire::array_type({3, 2})},
                                            {"boxes", wire::array_type({3, 4})}};
  const std::vector<wire::Feature> kept = {{"confidence", wire::rows_type(0, -1, 2)},
                                           {"coordinates", wire::rows_type(0, -1, 4)}};
  std::vector<wire::Feature> inputs = boxes;
  inputs.push_back({"iou", wire::double_type()});
  wire::Suppression suppression;
  suppression.labels = wire::string_labels({"cat", "dog"});
  write_file(path("nms.mlmodel"),
             wire::model(wire::description(inputs, kept), 202,
                         wire::pipeline({wire::model(wire::description(boxes, kept), 610,
                                                     wire::suppression_body(suppression))})));
  write_npy(path("scores.npy"), array<double>({0.75, 0, 0, 0.5, 0.25, 0}, {3, 2}));
  write_npy(path("boxes.npy"), array<double>({1, 1, 2, 2, 1, 1, 2, 2, 5, 5, 1, 1}, {3, 4}));
  write_npy(path("iou.npy"), array<double>({1}, {1}));
  std::vector<std::string> arguments = {path("nms.mlmodel"), "--input",
                                        "scores=" + path("scores.npy"), "--input",
                                        "boxes=" + path("boxes.npy")};
  const auto defaults = predict(arguments);
  EXPECT_EQ(defaults.out,
            "confidence   float64 [2, 2]  [0.75, 0, 0.25, 0]\n"
            "coordinates  float64 [2, 4]  [1, 1, 2, 2, 5, 5, 1, 1]\n")
      << defaults.err;
  arguments.insert(arguments.end(), {"--input", "iou=" + path("iou.npy")});
  EXPECT_NE(predict(arguments).out.find("confidence   float64 [3, 2]"), std::string::npos);
  const auto shown = run_pippin({"inspect", path("nms.mlmodel")});
  EXPECT_NE(shown.out.find("iou     double          optional, 0.5"), std::string::npos)
      << shown.out;
  EXPECT_NE(shown.out.find("cat, dog"), std::string::npos) << shown.out;
  const auto json = run_pippin({"inspect", "--json", path("nms.mlmodel")});
  EXPECT_EQ(
      Json::parse(json.out, "out").at("stages").at(0).at("functions").at(0).get_strings("classes"),
      (std::vector<std::string>{"cat", "dog"}));
  EXPECT_NE(run_pippin({"inspect", "--mil", path("nms.mlmodel")}).out.find("pick_top_boxes"),
            std::string::npos);
}

TEST_F(PredictTest, RowsOfAFileOneAfterAnother) {
  namespace wire = mil::wire;
  write_file(path("glm.mlmodel"),
             wire::model(wire::description({{"a", wire::double_type()}, {"b", wire::int64_type()}},
                                           {{"y", wire::double_type()}}, "y"),
                         300, wire::linear_model({{1, 2}}, {0.5})));
  write_file(path("rows.csv"), "b,a\n1,1\n3,2.25\n");
  EXPECT_EQ(predict({path("glm.mlmodel"), "--input", path("rows.csv")}).out,
            "{\"y\": 3.5}\n{\"y\": 8.75}\n");
  write_file(path("b.jsonl"), "{\"b\": 1}\n{\"b\": 2}\n");
  const auto result = predict({path("glm.mlmodel"), "--input", path("b.jsonl"), "--input", "a=0.25",
                               "-o", path("out.csv"), "-o", path("out.json")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(read_file(path("out.csv")), "y\n2.75\n4.75\n");
  EXPECT_EQ(read_file(path("out.json")), "[{\"y\": 2.75},\n {\"y\": 4.75}]\n");
  write_file(path("rows.json"), R"([{"a": 1, "b": 1}, {"a": 1}])");
  expect_failure(predict({path("glm.mlmodel"), "--input", path("rows.json")}), 1,
                 "row 1: input 'b' is missing");
  expect_failure(predict({path("glm.mlmodel"), "--input", path("rows.json"), "-o", "x.npz"}), 1,
                 "cannot hold rows");
}

TEST_F(PredictTest, ModelsOfAppsAndSystemsAreStatusThree) {
  namespace wire = mil::wire;
  write_file(path("custom.mlmodel"),
             wire::model(wire::description({{"a", wire::double_type()}}, {}), 555,
                         wire::field(10, "Mine")));
  expect_failure(predict({path("custom.mlmodel"), "--input", "a=1"}), 3,
                 "customModel: computed by the class 'Mine' of an app");
  const auto shown = run_pippin({"inspect", path("custom.mlmodel")});
  EXPECT_NE(shown.out.find("class  Mine"), std::string::npos) << shown.out;
}

// Each step reads the states that the one before wrote to a file.
TEST_F(PredictTest, StatesAreCarriedInFiles) {
  PIPPIN_SHARED_OR_SKIP(root, "coremltools");
  const NpzFile golden = NpzFile::open(root / "llama_multifunction.npz");
  const Json description = Json::load(root / "llama_multifunction.json");
  const std::vector<Json> steps = description.at("steps").elements();
  for (size_t step = 0; step < 3; ++step) {
    const std::string prefix = "s" + std::to_string(step);
    std::vector<std::pair<std::string, NpyArray>> inputs;
    for (const std::string& name : golden.names()) {
      if (name.starts_with(prefix + ".in.")) {
        inputs.emplace_back(name.substr(prefix.size() + 4), golden.read(name));
      }
    }
    write_npz(path("in.npz"), inputs);
    std::vector<std::string> arguments = {(root / "llama_multifunction.mlpackage").string(),
                                          "--function",
                                          steps[step].get_string("function"),
                                          "--input",
                                          path("in.npz"),
                                          "--output",
                                          path("out.npz"),
                                          "--state-out",
                                          path("state.npz"),
                                          "--repeat",
                                          "2"};  // from the same state: nothing changes
    if (step > 0) arguments.insert(arguments.end(), {"--state-in", path("state.npz")});
    const auto result = predict(arguments);
    ASSERT_EQ(result.status, 0) << result.err;
    const NpzFile outputs = NpzFile::open(path("out.npz"));
    size_t compared = 0;
    for (const std::string& name : golden.names()) {
      if (!name.starts_with(prefix + ".out.")) continue;
      const auto expected = golden.read(name).to_doubles();
      const auto actual = outputs.read(name.substr(prefix.size() + 5)).to_doubles();
      ASSERT_EQ(actual.size(), expected.size());
      for (size_t i = 0; i < expected.size(); ++i) {
        if (std::isnan(expected[i])) continue;
        ASSERT_NEAR(actual[i], expected[i], 0.05 + 0.05 * std::abs(expected[i])) << name << i;
        ++compared;
      }
    }
    EXPECT_GT(compared, 0u);
  }
  write_npz(path("state.npz"), {{"none", array<float>({1}, {1})}});
  expect_failure(predict({(root / "llama_multifunction.mlpackage").string(), "--random-inputs", "1",
                          "--state-in", path("state.npz")}),
                 1, "no state 'none'; the model's states: ");
  expect_failure(predict({(root / "llama_multifunction.mlpackage").string(), "--random-inputs", "1",
                          "--state-in", kPictures + "rgb.png"}),
                 1, "rgb.png: not a .npz file");
}

TEST_F(PredictTest, RandomInputsDoForEveryPackage) {
  size_t packages = 0;
  for (const char* collection : {"coremltools", "packages"}) {
    for (const fs::path& entry : shared_entries(collection)) {
      const fs::path extension = entry.extension();
      if (extension != ".mlpackage" && extension != ".mlmodelc") continue;
      const auto result =
          predict({entry.string(), "--random-inputs", "1", "--output", path("o.npz")});
      EXPECT_EQ(result.status, 0) << entry << ": " << result.err;
      EXPECT_FALSE(NpzFile::open(path("o.npz")).names().empty());
      ++packages;
    }
  }
  if (packages == 0) GTEST_SKIP() << shared_data_absent("coremltools");
  EXPECT_GT(packages, 50u);
}

TEST_F(PredictTest, TheCommandForCheckersPassesItsArgumentsOn) {
  write_npz(path("in.npz"), {{"x", array<float>({1, 2, 3}, {1, 3})}});
  const auto result =
      run_process({source_dir().string() + "/tests/predict_command.sh", kAddHalf, "main",
                   path("in.npz"), path("out.npz")},
                  {.environment = {{"PIPPIN", PIPPIN_PROGRAM},
                                   {"PIPPIN_PREDICT_OPTIONS", "--precision exact --threads 1"}}});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(NpzFile::open(path("out.npz")).read("y").to_floats(),
            (std::vector<float>{1.5, 2.5, 3.5}));
}

}  // namespace
}  // namespace pippin
