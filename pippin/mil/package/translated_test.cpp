// Models of other kinds than programs: GLMs, vectorizers, non-maximum suppression.
#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/error_testing.h"
#include "pippin/base/testing.h"
#include "pippin/mil/package/compiled_testing.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/package/summary.h"
#include "pippin/mil/proto/wire_testing.h"

namespace pippin::mil {
namespace {

namespace fs = std::filesystem;
using wire::Feature;

const std::vector<Feature> kTwoNumbers = {{"a", wire::double_type()}, {"b", wire::int64_type()}};
const std::vector<Feature> kNumber = {{"y", wire::double_type()}};
const std::vector<Feature> kLabel = {{"label", wire::string_type()},
                                     {"odds", wire::dictionary_type(true)}};
const std::vector<Feature> kBoxes = {{"scores", wire::array_type({6, 2})},
                                     {"boxes", wire::array_type({6, 4})}};
const std::vector<Feature> kKept = {{"confidence", wire::rows_type(0, -1, 2)},
                                    {"coordinates", wire::rows_type(0, -1, 4)}};

std::string regressor(const std::string& body, const std::vector<Feature>& inputs = kTwoNumbers,
                      const std::vector<Feature>& outputs = kNumber) {
  return wire::model(wire::description(inputs, outputs, "y"), kGlmRegressorField, body);
}

std::string classifier(const std::string& body, const std::vector<Feature>& outputs = kLabel) {
  return wire::model(wire::description(kTwoNumbers, outputs, "label", "odds"), kGlmClassifierField,
                     body);
}

std::string suppression(const wire::Suppression& from, const std::vector<Feature>& inputs = kBoxes,
                        const std::vector<Feature>& outputs = kKept) {
  return wire::model(wire::description(inputs, outputs), kNonMaximumSuppressionField,
                     wire::suppression_body(from));
}

// As declared by Ultralytics' exporter: thresholds are inputs of the pipeline alone, and required.
std::string detector() {
  std::vector<Feature> inputs = kBoxes;
  inputs.push_back({"iou", wire::double_type()});
  inputs.push_back({"conf", wire::double_type()});
  return wire::model(wire::description(inputs, kKept), kPipelineField,
                     wire::pipeline({suppression({})}));
}

Model parsed(const std::string& bytes) {
  TempDir scratch;
  put_file(scratch / "m.mlmodel", bytes);
  return read_package(scratch / "m.mlmodel");
}

std::string error_of(const std::string& bytes) {
  return thrown_fault([&] { parsed(bytes); });
}

TEST(Translated, KindsAreTold) {
  EXPECT_EQ(parsed(regressor(wire::linear_model({{1, 2}}, {3}))).kind, ModelKind::GlmRegressor);
  EXPECT_EQ(
      parsed(classifier(wire::linear_model({{1, 2}}, {3}) + wire::string_labels({"n", "y"}))).kind,
      ModelKind::GlmClassifier);
  const Model model = parsed(suppression({}));
  EXPECT_EQ(model.kind, ModelKind::NonMaximumSuppression);
  EXPECT_TRUE(model.is_translated());
  EXPECT_FALSE(model.is_pipeline());
}

TEST(Translated, ThresholdsAreOptionalInputs) {
  for (const bool declared : {false, true}) {
    std::vector<Feature> inputs = kBoxes;
    if (declared) inputs.push_back({"conf", wire::double_type()});
    const Model model = parsed(suppression({}, inputs));
    const auto& features = model.functions.at(0).inputs;
    ASSERT_EQ(features.size(), 4u);
    EXPECT_EQ(features[2].name, declared ? "conf" : "iou");
    for (const auto& threshold : {features[2], features[3]}) {
      EXPECT_TRUE(threshold.optional);
      EXPECT_EQ(std::get<double>(threshold.default_value), threshold.name == "iou" ? 0.5 : 0.25);
    }
  }
  const Model pipeline = parsed(detector());
  EXPECT_TRUE(pipeline.functions.at(0).inputs.at(2).optional);
  EXPECT_TRUE(pipeline.functions.at(0).inputs.at(2).declared_required);
  wire::Suppression constant;
  constant.iou_input = constant.confidence_input = "";
  EXPECT_EQ(parsed(suppression(constant)).functions.at(0).inputs.size(), 2u);
}

TEST(Translated, SummariesShowThem) {
  wire::Suppression named;
  named.labels = wire::string_labels({"cat", "dog"});
  const std::string text = summary_text(parsed(suppression(named)));
  EXPECT_NE(text.find("m.mlmodel: non-maximum suppression, specification version 5"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("iou     double          optional, 0.5"), std::string::npos) << text;
  EXPECT_NE(text.find("pick_top_boxes 1"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  classes (2)\n    cat, dog\n"), std::string::npos) << text;
  const std::string glm = summary_text(
      parsed(classifier(wire::linear_model({{1, 2}}, {3}) + wire::int64_labels({-3, 7}),
                        {{"label", wire::int64_type()}})));
  EXPECT_NE(glm.find("m.mlmodel: GLM classifier,"), std::string::npos) << glm;
  EXPECT_NE(glm.find("\n  classes (2)\n    -3, 7\n"), std::string::npos) << glm;
}

TEST(Translated, ProgramsAreText) {
  wire::Suppression named;
  named.labels = wire::string_labels({"cat", "a \"b\" \n"});
  const std::string text = print(parsed(suppression(named)).program);
  EXPECT_EQ(print(parse_text(text, "printed")), text);
}

// The bytes read are written back, also in packages; only metadata changes.
TEST(Translated, AreWrittenBackAsRead) {
  const std::string glm = regressor(wire::linear_model({{1, 2}}, {3}) + wire::field(77, "unknown"));
  for (const std::string& bytes : {glm, suppression({}), detector()}) {
    TempDir scratch;
    Model model = parsed(bytes);
    write_package(model, scratch / "m.mlpackage");
    EXPECT_FALSE(fs::exists(scratch.path() / "m.mlpackage/Data/com.apple.CoreML/weights"));
    const std::string once = serialize_model(read_package(scratch / "m.mlpackage"));
    EXPECT_EQ(once, serialize_model(model));
    EXPECT_EQ(serialize_model(parse_model(as_byte_span(once))), once);
    // No input became optional (field 1000) on the way.
    EXPECT_EQ(once.find("\xc0\x3e\x01"), std::string::npos);
    model.metadata.author = "somebody";
    const std::string changed = serialize_model(model);
    EXPECT_EQ(parse_model(as_byte_span(changed)).metadata.author, "somebody");
  }
  EXPECT_NE(serialize_model(parsed(glm)).find("unknown"), std::string::npos);
}

TEST(Translated, RegressorsWithFaults) {
  const auto error = [](const std::string& bytes) { return error_of(bytes); };
  EXPECT_EQ(error(regressor("")), "invalid file: m.mlmodel: the model has no weights");
  EXPECT_EQ(error(regressor(wire::linear_model({{1}}, {0}))),
            "invalid file: m.mlmodel: the inputs have 2 numbers, the model takes 1");
  EXPECT_EQ(error(regressor(wire::linear_model({{1, 2}}, {}))),
            "invalid file: m.mlmodel: there are 1 rows of weights and 0 offsets");
  EXPECT_EQ(error(regressor(wire::linear_model({{1, 2}, {1}}, {0, 0}), kTwoNumbers,
                            {{"y", wire::array_type({2})}})),
            "invalid file: m.mlmodel: a row has 1 weights, the first has 2");
  EXPECT_EQ(error(regressor(wire::linear_model({{1, 2}, {1, 3}}, {0, 0}))),
            "invalid file: m.mlmodel: the output 'y' is a double and cannot hold 2 numbers");
  EXPECT_EQ(error(regressor(wire::linear_model({{1, 2}}, {0}, 3))),
            "invalid file: m.mlmodel: unknown postEvaluationTransform 3");
  EXPECT_EQ(error(regressor(wire::linear_model({{1, 2}}, {0}), {})),
            "invalid file: m.mlmodel: the model has no inputs");
  EXPECT_EQ(error(regressor(wire::linear_model({{1}}, {0}), {{"a", wire::string_type()}})),
            "invalid file: m.mlmodel: input 'a': its type is neither a number nor an array");
  EXPECT_EQ(error(regressor(wire::linear_model({{1, 2}}, {0}), kTwoNumbers,
                            {{"z", wire::double_type()}})),
            "invalid file: m.mlmodel: no output 'y', the description's output for the "
            "prediction");
  EXPECT_EQ(error(regressor(wire::linear_model({{1, 2}}, {0}), kTwoNumbers,
                            {{"y", wire::array_type({2})}})),
            "invalid file: m.mlmodel: the output 'y' of shape [2] cannot hold 1 numbers");
}

TEST(Translated, FeatureVectorizersWithFaults) {
  const auto error = [](const std::vector<std::pair<std::string, uint64_t>>& columns,
                        const std::vector<Feature>& inputs = kTwoNumbers,
                        const std::string& output = wire::array_type({2})) {
    return error_of(wire::model(wire::description(inputs, {{"row", output}}),
                                kFeatureVectorizerField, wire::vectorizer(columns)));
  };
  EXPECT_EQ(error({{"b", 1}, {"a", 1}}), "no error");
  EXPECT_EQ(error({}, {}),
            "invalid file: m.mlmodel: the output 'row' does not have the 0 numbers "
            "of the inputs");
  EXPECT_EQ(error({{"a", 1}, {"c", 1}}),
            "invalid file: m.mlmodel: no input 'c', which featureVectorizer names");
  EXPECT_EQ(error({{"a", 1}}),
            "invalid file: m.mlmodel: the input 'b' is not in featureVectorizer");
  EXPECT_EQ(error({{"a", 1}, {"a", 1}}),
            "invalid file: m.mlmodel: the input 'a' is in featureVectorizer twice");
  EXPECT_EQ(error({{"a", 1}, {"b", 0}}),
            "invalid file: m.mlmodel: input 'b': inputDimensions is 0, not 1 to 16777216");
  EXPECT_EQ(error({{"a", 1}, {"b", 2}}, kTwoNumbers, wire::array_type({3})),
            "invalid file: m.mlmodel: input 'b': 1 numbers, the model takes 2");
  EXPECT_EQ(error({{"a", 1}, {"b", 1}}, kTwoNumbers, wire::array_type({3})),
            "invalid file: m.mlmodel: the output 'row' does not have the 2 numbers of the inputs");
  EXPECT_EQ(error({{"a", 1}, {"b", 1}}, kTwoNumbers, wire::double_type()),
            "invalid file: m.mlmodel: the output of featureVectorizer must be an array");
  EXPECT_EQ(error({{"a", 2}}, {{"a", wire::string_type()}}),
            "invalid file: m.mlmodel: input 'a': its type is neither a number nor an array");
  EXPECT_EQ(error({{"a", 2}}, {{"a", wire::dictionary_type(false)}}), "no error");
}

TEST(Translated, ClassifiersWithFaults) {
  const auto error = [](const std::vector<std::vector<double>>& weights, const std::string& rest,
                        uint64_t transform = 0, uint64_t encoding = 0) {
    const std::vector<double> offsets(weights.size(), 0.0);
    return error_of(classifier(wire::linear_model(weights, offsets, transform, encoding) + rest));
  };
  const std::string two = wire::string_labels({"a", "b"}),
                    three = wire::string_labels({"a", "b", "c"});
  EXPECT_EQ(error({{1, 2}}, two), "no error");
  EXPECT_EQ(error({{1, 2}}, ""), "invalid file: m.mlmodel: the classifier has no class labels");
  EXPECT_EQ(error({{1, 2}}, three),
            "invalid file: m.mlmodel: there are 1 rows of weights for 3 classes, 2 are needed");
  EXPECT_EQ(error({{1, 2}, {1, 2}}, three, 0, 1),
            "invalid file: m.mlmodel: there are 2 rows of weights for 3 classes, 3 are needed");
  EXPECT_EQ(error({{1, 2}, {1, 2}}, two, 0, 1),
            "invalid file: m.mlmodel: there are 2 rows of weights for 2 classes, 1 are needed");
  EXPECT_EQ(error({{1, 2}, {1, 2}}, three, 1),
            "invalid file: m.mlmodel: Probit is for two classes, there are 3");
  EXPECT_EQ(error({{1, 2}}, two, 2), "invalid file: m.mlmodel: unknown postEvaluationTransform 2");
  EXPECT_EQ(error({{1, 2}}, two, 0, 2), "invalid file: m.mlmodel: unknown classEncoding 2");
  EXPECT_EQ(error({{1, 2}}, wire::string_labels({"a", "a"})),
            "invalid file: m.mlmodel: the class label 'a' is repeated");
  EXPECT_EQ(error({{1, 2}}, wire::string_labels({"a", "\xff"})),
            "invalid file: m.mlmodel: a label is not UTF-8");
  EXPECT_EQ(error({{1, 2}}, wire::int64_labels({1, 2})),
            "invalid file: m.mlmodel: the output 'label' differs in type from the class labels");
  EXPECT_EQ(error_of(classifier(wire::linear_model({{1, 2}}, {0}) + two,
                                {{"label", wire::string_type()}, {"odds", wire::double_type()}})),
            "invalid file: m.mlmodel: the output 'odds' is not a dictionary of the class labels");
}

TEST(Translated, SuppressionsWithFaults) {
  const auto with = [](auto&& change) {
    wire::Suppression from;
    change(from);
    return error_of(suppression(from));
  };
  EXPECT_EQ(with([](auto&) {}), "no error");
  EXPECT_EQ(with([](auto& from) { from.iou = 1.5; }),
            "invalid file: m.mlmodel: iouThreshold 1.5, not 0 to 1");
  EXPECT_EQ(with([](auto& from) { from.confidence = -1; }),
            "invalid file: m.mlmodel: confidenceThreshold -1, below 0");
  EXPECT_EQ(with([](auto& from) { from.boxes = "b"; }),
            "invalid file: m.mlmodel: no input 'b', which nonMaximumSuppression names");
  EXPECT_EQ(with([](auto& from) { from.out_scores = ""; }),
            "invalid file: m.mlmodel: no output '', which nonMaximumSuppression names");
  EXPECT_EQ(with([](auto& from) { from.iou_input = "boxes"; }),
            "invalid file: m.mlmodel: the threshold 'boxes' is not a double");
  EXPECT_EQ(with([](auto& from) { from.labels = wire::string_labels({"a"}); }),
            "invalid file: m.mlmodel: 1 class labels for 2 columns of 'confidence'");
  std::vector<Feature> inputs = kBoxes;
  inputs[0].type = wire::double_type();
  EXPECT_EQ(error_of(suppression({}, inputs)),
            "invalid file: m.mlmodel: the input 'scores' is not an array");
  inputs[0].type = wire::array_type({6, 2}, wire::kInt32);
  EXPECT_EQ(error_of(suppression({}, inputs)),
            "invalid file: m.mlmodel: 'scores' holds int32, not floats");
  inputs = kBoxes;
  inputs.push_back({"more", wire::double_type()});
  EXPECT_EQ(
      error_of(suppression({}, inputs)),
      "invalid file: m.mlmodel: function 'main': the input 'more' of the description is not in "
      "the program");
}

}  // namespace
}  // namespace pippin::mil
