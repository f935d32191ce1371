// GLMs and non-maximum suppression, compared with slow code of the tests.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "pippin/api/model.h"
#include "pippin/base/testing.h"
#include "pippin/io/fault_test.h"
#include "pippin/mil/package/interface.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/proto/serialize.h"
#include "pippin/mil/proto/wire_testing.h"
#include "pippin/mil/text/text.h"

namespace pippin {
namespace {

namespace wire = mil::wire;
using Doubles = std::vector<double>;
using Rows = std::vector<Doubles>;

constexpr uint32_t kPipeline = 202, kVectorizer = 602, kRegressor = 300, kClassifier = 400,
                   kSuppression = 610;
const double kNaN = std::numeric_limits<double>::quiet_NaN();
const double kInf = std::numeric_limits<double>::infinity();

Model load(const std::string& bytes) {
  const TempDir scratch;
  const auto path = scratch.path() / "m.mlmodel";
  std::ofstream(path, std::ios::binary) << bytes;
  return Model::load(path, {.num_threads = 1});
}

Values predict(const std::string& bytes, const Values& inputs) {
  return load(bytes).function().predict(inputs);
}

Tensor one(double value) {
  return Tensor::from(Doubles{value}, {1});
}

Tensor vector(const Doubles& values) {
  return Tensor::from(values, {static_cast<int64_t>(values.size())});
}

Doubles numbers(const Values& values, const std::string& name) {
  return std::get<Tensor>(values.at(name)).to_doubles();
}

Doubles random_numbers(std::mt19937& random, size_t count, double scale) {
  std::normal_distribution<double> normal(0, scale);
  Doubles result(count);
  for (double& value : result) value = normal(random);
  return result;
}

std::string regressor(const Rows& weights, const Doubles& offsets, uint64_t transform,
                      const std::vector<wire::Feature>& inputs, const std::string& output) {
  return wire::model(wire::description(inputs, {{"y", output}}, "y"), kRegressor,
                     wire::linear_model(weights, offsets, transform));
}

// The smallest model of coremltools' own tests, which compare its result with ==.
TEST(Glm, TwoNumbersAndAnOffset) {
  const std::string bytes = regressor(
      {{1, 2}}, {0.1}, 0, {{"feature_1", wire::double_type()}, {"feature_2", wire::double_type()}},
      wire::double_type());
  const Values values = predict(bytes, {{"feature_1", one(1)}, {"feature_2", one(1)}});
  EXPECT_EQ(numbers(values, "y"), Doubles{3.1});
  EXPECT_EQ(std::get<Tensor>(values.at("y")).type(), DataType::Float64);
  EXPECT_FAULT(predict(bytes, {{"feature_1", one(1)}}), "input 'feature_2' is missing");
  EXPECT_FAULT(predict(bytes, {{"feature_1", one(1)}, {"feature_2", vector({1, 2})}}),
               "shape [2]; expected one float64");
}

// Numbers and arrays in the order that the model lists, alone and before a GLM that takes the
// resulting row by name.
TEST(FeatureVectorizer, JoinsItsInputs) {
  const std::vector<wire::Feature> inputs = {{"number", wire::double_type()},
                                             {"count", wire::int64_type()},
                                             {"matrix", wire::array_type({2, 2})},
                                             {"any", wire::array_type({})}};
  const std::vector<std::pair<std::string, uint64_t>> columns = {
      {"matrix", 4}, {"count", 1}, {"any", 2}, {"number", 1}};
  const std::string bytes = wire::model(wire::description(inputs, {{"row", wire::array_type({8})}}),
                                        kVectorizer, wire::vectorizer(columns));
  const Values values = {{"number", one(0.5)},
                         {"count", Tensor::from(std::vector<int64_t>{-5}, {1})},
                         {"matrix", Tensor::from(Doubles{1, 2, 3, 4}, {2, 2})},
                         {"any", vector({7, 8})}};
  EXPECT_EQ(numbers(predict(bytes, values), "row"), (Doubles{1, 2, 3, 4, -5, 7, 8, 0.5}));
  const std::string glm = regressor({{1, 1, 1, 1, 10, 100, 1000, 2}}, {0.25}, 0,
                                    {{"row", wire::array_type({8})}}, wire::double_type());
  const std::string both = wire::model(wire::description(inputs, {{"y", wire::double_type()}}, "y"),
                                       kPipeline, wire::pipeline({bytes, glm}));
  EXPECT_EQ(numbers(predict(both, values), "y"), Doubles{10 - 50 + 700 + 8000 + 1 + 0.25});
}

double transformed(double x, uint64_t transform) {
  if (transform == 1) return 1 / (1 + std::exp(-x));
  return transform == 2 ? std::erfc(-x / std::sqrt(2.0)) / 2 : x;
}

TEST(Glm, RegressorsOfEveryTransformAndInput) {
  std::mt19937 random(1);
  for (uint64_t transform = 0; transform < 3; ++transform) {
    for (const size_t rows : {1, 3}) {
      const std::vector<wire::Feature> inputs = {{"number", wire::double_type()},
                                                 {"count", wire::int64_type()},
                                                 {"matrix", wire::array_type({2, 3})},
                                                 {"singles", wire::array_type({2}, wire::kFloat)},
                                                 {"integers", wire::array_type({1}, wire::kInt32)}};
      Rows weights;
      for (size_t r = 0; r < rows; ++r) weights.push_back(random_numbers(random, 11, 0.3));
      const Doubles offsets = random_numbers(random, rows, 1);
      const Doubles matrix = random_numbers(random, 6, 1);
      const Doubles x = {0.1,       -5,        matrix[0], matrix[1], matrix[2], matrix[3],
                         matrix[4], matrix[5], 0.5,       -0.25,     7};
      const Values values =
          predict(regressor(weights, offsets, transform, inputs, wire::array_type({rows})),
                  {{"number", one(0.1)},
                   {"count", Tensor::from(std::vector<int64_t>{-5}, {1})},
                   {"matrix", Tensor::from(matrix, {2, 3})},
                   {"singles", vector({0.5, -0.25})},
                   {"integers", Tensor::from(std::vector<int32_t>{7}, {1})}});
      const Doubles y = numbers(values, "y");
      ASSERT_EQ(y.size(), rows);
      for (size_t r = 0; r < rows; ++r) {
        double sum = offsets[r];
        for (size_t i = 0; i < x.size(); ++i) sum += weights[r][i] * x[i];
        EXPECT_NEAR(y[r], transformed(sum, transform), 1e-13);
      }
    }
  }
}

// An array without a declared shape is a vector of any length that fits the weights.
TEST(Glm, ArraysWithoutAShape) {
  const std::string bytes =
      regressor({{1, 10}}, {100}, 0, {{"x", wire::array_type({})}}, wire::double_type());
  EXPECT_EQ(numbers(predict(bytes, {{"x", vector({1, 2})}}), "y"), Doubles{121});
  EXPECT_ANY_THROW(predict(bytes, {{"x", vector({1, 2, 3})}}));
}

TEST(Glm, UglyNumbers) {
  const auto logit = [](double x) {
    const std::string bytes =
        regressor({{1}}, {0}, 1, {{"x", wire::double_type()}}, wire::double_type());
    return numbers(predict(bytes, {{"x", one(x)}}), "y").at(0);
  };
  EXPECT_EQ(logit(kInf), 1);
  EXPECT_EQ(logit(-kInf), 0);
  EXPECT_EQ(logit(-1e308), 0);
  EXPECT_TRUE(std::isnan(logit(kNaN)));
}

std::string classifier(const Rows& weights, const Doubles& offsets, uint64_t transform,
                       uint64_t encoding, size_t classes, size_t inputs, bool texts) {
  std::vector<std::string> names;
  std::vector<int64_t> ids;
  for (size_t i = 0; i < classes; ++i) {
    names.push_back("class" + std::to_string(i));
    ids.push_back(static_cast<int64_t>(i) * 10 - 5);
  }
  return wire::model(wire::description({{"x", wire::array_type({inputs})}},
                                       {{"label", texts ? wire::string_type() : wire::int64_type()},
                                        {"odds", wire::dictionary_type(texts)}},
                                       "label", "odds"),
                     kClassifier,
                     wire::linear_model(weights, offsets, transform, encoding) +
                         (texts ? wire::string_labels(names) : wire::int64_labels(ids)));
}

Doubles expected_odds(const Doubles& scores, uint64_t transform, uint64_t encoding,
                      size_t classes) {
  if (classes == 2) {
    const double p = transformed(scores[0], transform + 1);
    return {1 - p, p};
  }
  Doubles odds;
  if (encoding == 0) odds.push_back(1);
  for (const double score : scores) {
    odds.push_back(encoding == 0 ? std::exp(score) : transformed(score, 1));
  }
  double sum = 0;
  for (const double p : odds) sum += p;
  for (double& p : odds) p /= sum;
  return odds;
}

TEST(Glm, ClassifiersOfEveryEncoding) {
  std::mt19937 random(2);
  for (int round = 0; round < 60; ++round) {
    const size_t classes = 2 + random() % 4, inputs = 1 + random() % 5;
    const uint64_t encoding = random() % 2, transform = classes == 2 ? random() % 2 : 0;
    const bool texts = random() % 2 == 0;
    const size_t rows = classes - (encoding == 0 || classes == 2 ? 1 : 0);
    Rows weights;
    for (size_t r = 0; r < rows; ++r) weights.push_back(random_numbers(random, inputs, 1));
    const Doubles offsets = random_numbers(random, rows, 1), x = random_numbers(random, inputs, 1);
    Doubles scores = offsets;
    for (size_t r = 0; r < rows; ++r) {
      for (size_t i = 0; i < inputs; ++i) scores[r] += weights[r][i] * x[i];
    }
    const Doubles expected = expected_odds(scores, transform, encoding, classes);
    const Values values =
        predict(classifier(weights, offsets, transform, encoding, classes, inputs, texts),
                {{"x", vector(x)}});
    const auto& odds = std::get<Dictionary>(values.at("odds"));
    const Doubles actual = odds.values.to_doubles();
    ASSERT_EQ(actual.size(), classes);
    for (size_t i = 0; i < classes; ++i) EXPECT_NEAR(actual[i], expected[i], 1e-13);
    const auto best = std::max_element(expected.begin(), expected.end()) - expected.begin();
    const Tensor& label = std::get<Tensor>(values.at("label"));
    if (texts) {
      EXPECT_EQ(label.strings().at(0), "class" + std::to_string(best));
      EXPECT_EQ(odds.keys.strings().at(1), "class1");
    } else {
      EXPECT_EQ(label.to_doubles().at(0), static_cast<double>(best) * 10 - 5);
      EXPECT_EQ(odds.keys.to_doubles().at(1), 5);
    }
  }
}

TEST(Glm, SharesOfNothingAreZeros) {
  const Values values =
      predict(classifier({{1}, {1}, {1}}, {0, 0, 0}, 0, 1, 3, 1, true), {{"x", vector({-1e9})}});
  EXPECT_EQ(std::get<Dictionary>(values.at("odds")).values.to_doubles(), (Doubles{0, 0, 0}));
}

struct Detection {
  Rows scores, boxes;
};

double overlap(const Doubles& a, const Doubles& b) {
  double both = 1;
  for (size_t axis = 0; axis < 2; ++axis) {
    const double low = std::max(a[axis] - a[axis + 2] / 2, b[axis] - b[axis + 2] / 2);
    const double high = std::min(a[axis] + a[axis + 2] / 2, b[axis] + b[axis + 2] / 2);
    both *= high > low ? high - low : 0;
  }
  const double either = a[2] * a[3] + b[2] * b[3] - both;
  return either > 0 ? both / either : 0;
}

// The published algorithm literally: take the best remaining box, discard all that are close to it.
Detection expected_picks(const Detection& all, double iou, double least, bool per_class) {
  const size_t count = all.scores.size();
  std::vector<double> best(count, -kInf);
  std::vector<size_t> label(count, 0);
  std::vector<bool> left(count, false);
  for (size_t i = 0; i < count; ++i) {
    for (size_t c = 0; c < all.scores[i].size(); ++c) {
      if (std::isnan(all.scores[i][c]) || all.scores[i][c] <= best[i]) continue;
      best[i] = all.scores[i][c];
      label[i] = c;
    }
    left[i] = best[i] > -kInf && best[i] >= least;
  }
  Detection kept;
  for (;;) {
    size_t top = count;
    for (size_t i = 0; i < count; ++i) {
      if (left[i] && (top == count || best[i] > best[top])) top = i;
    }
    if (top == count) return kept;
    left[top] = false;
    kept.scores.push_back(all.scores[top]);
    kept.boxes.push_back(all.boxes[top]);
    for (size_t i = 0; i < count; ++i) {
      if (per_class && label[i] != label[top]) continue;
      if (overlap(all.boxes[top], all.boxes[i]) > iou) left[i] = false;
    }
  }
}

Tensor matrix(const Rows& rows, size_t columns) {
  Doubles values;
  for (const Doubles& row : rows) values.insert(values.end(), row.begin(), row.end());
  return Tensor::from(values, {static_cast<int64_t>(rows.size()), static_cast<int64_t>(columns)});
}

void expect_rows(const Values& values, const std::string& name, const Rows& expected,
                 size_t columns) {
  const Tensor& tensor = std::get<Tensor>(values.at(name));
  EXPECT_EQ(tensor.shape(), (std::vector<int64_t>{static_cast<int64_t>(expected.size()),
                                                  static_cast<int64_t>(columns)}));
  const Doubles actual = tensor.to_doubles(), wanted = matrix(expected, columns).to_doubles();
  ASSERT_EQ(actual.size(), wanted.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    const bool same = std::isnan(wanted[i]) ? std::isnan(actual[i]) : actual[i] == wanted[i];
    EXPECT_TRUE(same) << name << " " << i << ": " << actual[i] << ", not " << wanted[i];
  }
}

std::string suppression(const wire::Suppression& from, size_t classes,
                        const std::string& kept_scores = "", bool declares_shapes = false) {
  const auto input = [&](uint64_t columns) {
    return declares_shapes ? wire::rows_type(0, -1, columns) : wire::array_type({});
  };
  return wire::model(
      wire::description({{"scores", input(classes)}, {"boxes", input(4)}},
                        {{"confidence", kept_scores.empty() ? wire::array_type({}) : kept_scores},
                         {"coordinates", wire::array_type({})}}),
      kSuppression, wire::suppression_body(from));
}

Values detect(const std::string& bytes, const Detection& all, size_t classes,
              Values thresholds = {}) {
  thresholds.emplace("scores", matrix(all.scores, classes));
  thresholds.emplace("boxes", matrix(all.boxes, 4));
  return predict(bytes, thresholds);
}

// Some confidences are equal, some are zero, some boxes are empty or inverted.
Detection random_detection(std::mt19937& random, size_t count, size_t classes) {
  std::uniform_real_distribution<double> unit(0, 1);
  Detection all;
  for (size_t i = 0; i < count; ++i) {
    Doubles scores(classes), box = {unit(random), unit(random), unit(random), unit(random)};
    for (double& score : scores) {
      const auto ugly = random() % 12;
      score = ugly == 0 ? kNaN : ugly == 1 ? 0 : ugly < 5 ? 0.5 : unit(random);
    }
    if (random() % 8 == 0) box[2] = 0;
    if (random() % 20 == 0) box[3] = -box[3];
    if (random() % 20 == 0) box[random() % 4] = kNaN;
    if (i > 0 && random() % 6 == 0) box = all.boxes.back();
    all.scores.push_back(scores);
    all.boxes.push_back(box);
  }
  return all;
}

TEST(Suppression, PicksWhatThePublishedAlgorithmPicks) {
  std::mt19937 random(3);
  constexpr double kThresholds[] = {0, 0.3, 0.5, 1};
  for (int round = 0; round < 150; ++round) {
    const size_t count = random() % 30, classes = 1 + random() % 4;
    const Detection all = random_detection(random, count, classes);
    wire::Suppression from;
    from.iou = kThresholds[random() % 4];
    from.confidence = kThresholds[random() % 4];
    from.per_class = random() % 2 == 0;
    const std::string bytes = suppression(from, classes, "", random() % 2 == 0);
    const Detection kept = expected_picks(all, from.iou, from.confidence, from.per_class);
    const Values values = detect(bytes, all, classes);
    expect_rows(values, "confidence", kept.scores, classes);
    expect_rows(values, "coordinates", kept.boxes, 4);
    // Given thresholds override the defaults.
    const Detection other = expected_picks(all, 0.7, 0.1, from.per_class);
    const Values given = detect(bytes, all, classes, {{"iou", one(0.7)}, {"conf", one(0.1)}});
    expect_rows(given, "confidence", other.scores, classes);
    expect_rows(given, "coordinates", other.boxes, 4);
  }
}

const Detection kThree = {{{0.9, 0}, {0, 0.8}, {0.7, 0.1}},
                          {{1, 1, 2, 2}, {1, 1, 2, 2}, {5, 5, 1, 1}}};

TEST(Suppression, ShapesOfOutputsAreKept) {
  const auto rows = [](const std::string& type) {
    return detect(suppression({}, 2, type), kThree, 2);
  };
  expect_rows(rows(wire::array_type({4, 2})), "coordinates",
              {{1, 1, 2, 2}, {5, 5, 1, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}}, 4);
  expect_rows(rows(wire::array_type({1, 2})), "confidence", {{0.9, 0}}, 2);
  expect_rows(rows(wire::rows_type(3, 5, 2)), "confidence", {{0.9, 0}, {0.7, 0.1}, {0, 0}}, 2);
  expect_rows(rows(wire::rows_type(0, 1, 2)), "coordinates", {{1, 1, 2, 2}}, 4);
  const Tensor singles =
      std::get<Tensor>(rows(wire::rows_type(0, -1, 2, wire::kFloat)).at("confidence"));
  EXPECT_EQ(singles.type(), DataType::Float32);
}

TEST(Suppression, ArraysThatDoNotFit) {
  EXPECT_ANY_THROW(detect(suppression({}, 2), {kThree.scores, {{1, 1, 2, 2}}}, 2));
  EXPECT_ANY_THROW(predict(suppression({}, 2), {{"scores", matrix(kThree.scores, 2)},
                                                {"boxes", matrix({{1, 2, 3}}, 3)}}));
  wire::Suppression named;
  named.labels = wire::string_labels({"a", "b", "c"});
  EXPECT_ANY_THROW(detect(suppression(named, 2), kThree, 2));
}

// The thresholds are inputs of the pipeline: required, as some exporters declare them, or optional.
TEST(Suppression, AsTheLastStageOfAPipeline) {
  for (const bool optional : {false, true}) {
    const std::string threshold =
        optional ? wire::optional(wire::double_type()) : wire::double_type();
    wire::Suppression from;
    from.per_class = true;
    const std::string pipeline =
        wire::model(wire::description({{"scores", wire::array_type({3, 2})},
                                       {"boxes", wire::array_type({3, 4})},
                                       {"iou", threshold},
                                       {"conf", threshold}},
                                      {{"confidence", wire::rows_type(0, -1, 2)},
                                       {"coordinates", wire::rows_type(0, -1, 4)}}),
                    kPipeline, wire::pipeline({suppression(from, 2)}));
    expect_rows(detect(pipeline, kThree, 2), "confidence", kThree.scores, 2);
    expect_rows(detect(pipeline, kThree, 2, {{"conf", one(0.75)}}), "confidence",
                {{0.9, 0}, {0, 0.8}}, 2);
    expect_rows(detect(pipeline, kThree, 2, {{"conf", one(1)}, {"iou", one(0)}}), "coordinates", {},
                4);
    const Function function = load(pipeline).function();
    EXPECT_TRUE(function.inputs().at(2).optional);
    EXPECT_EQ(function.inputs().at(2).default_value, 0.5);
  }
}

// Like a packaged detector: a network in single precision with weights, then the suppression.
TEST(Suppression, AfterAProgram) {
  std::string halves = "0.5";
  for (int i = 1; i < 16; ++i) halves += ", 0.5";
  const mil::Model network = mil::describe_program(mil::parse_text(
      "program(1.3) { func main<ios18>(tensor<fp32, [16, 1]> raw, tensor<fp32, [16, 4]> places) {"
      " tensor<fp32, [16, 1]> w = const()[val = tensor<fp32, [16, 1]>([" +
          halves +
          "])]; tensor<fp32, [16, 1]> scores = mul(x = raw, y = w);"
          " tensor<fp32, [16, 4]> boxes = identity(x = places); } -> (scores, boxes); }",
      "network"));
  const std::string bytes =
      wire::model(wire::description({{"raw", wire::array_type({16, 1}, wire::kFloat)},
                                     {"places", wire::array_type({16, 4}, wire::kFloat)},
                                     {"conf", wire::double_type()}},
                                    {{"confidence", wire::rows_type(0, -1, 1, wire::kFloat)},
                                     {"coordinates", wire::rows_type(0, -1, 4, wire::kFloat)}}),
                  kPipeline, wire::pipeline({mil::serialize_model(network), suppression({}, 1)}));
  Detection all;
  for (size_t i = 0; i < 16; ++i) {
    all.scores.push_back({static_cast<double>(i) / 8});
    all.boxes.push_back({static_cast<double>(i % 8), 0, 1, 1});
  }
  // Each box of the second half is the better of two, and twice the default is 0.5.
  const TempDir scratch;
  std::ofstream(scratch / "m.mlmodel", std::ios::binary) << bytes;
  mil::write_package(mil::read_package(scratch / "m.mlmodel"), scratch / "m.mlpackage");
  EXPECT_TRUE(std::filesystem::exists(scratch.path() /
                                      "m.mlpackage/Data/com.apple.CoreML/weights/0-weight.bin"));
  for (const char* name : {"m.mlmodel", "m.mlpackage"}) {
    const Function function = Model::load(scratch / name, {.num_threads = 1}).function();
    Values inputs = {{"raw", matrix(all.scores, 1)}, {"places", matrix(all.boxes, 4)}};
    Rows kept;
    for (size_t i = 15; i >= 8; --i) kept.push_back({static_cast<double>(i) / 16});
    expect_rows(function.predict(inputs), "confidence", kept, 1);
    inputs.emplace("conf", one(0.9));
    expect_rows(function.predict(inputs), "coordinates", {{7, 0, 1, 1}}, 4);
  }
}

}  // namespace
}  // namespace pippin
