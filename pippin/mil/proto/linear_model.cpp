// Translates GLM regressors and classifiers into programs. Facts: Core ML's GLMRegressor.proto and
// GLMClassifier.proto.
#include <algorithm>
#include <limits>
#include <numbers>

#include "coreml.pb.h"
#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/mil/proto/translation.h"

namespace pippin::mil {
namespace {

// Values of postEvaluationTransform count from here in regressors, from Logit in classifiers.
enum class Transform : uint8_t { None, Logit, Probit };
enum class Encoding : uint8_t { ReferenceClass, OneVsRest };

Value number(double value) {
  return Value::of_float(DataType::Float64, value);
}

ValueType vector_type(int64_t size) {
  return ValueType::tensor(DataType::Float64, {size});
}

class LinearModelTranslation {
 public:
  LinearModelTranslation(const proto::LinearModel& message, const FunctionDescription& description)
      : message_(message),
        description_(description),
        to_(description),
        rows_(message.weights_size()) {}

  Program regressor() {
    Var* result = apply(transform(0), scores());
    const Feature& output = predicted();
    const bool numbers =
        output.kind == Feature::Kind::Double || output.kind == Feature::Kind::MultiArray;
    if (!numbers || (output.kind == Feature::Kind::Double && rows_ != 1)) {
      fail(ErrorCode::InvalidFile, "the output '{}' cannot hold {} numbers", output.name, rows_);
    }
    Operation& last = to_.append("identity", {{"x", {result}}});
    return to_.finish({last.add_output(output.name, result->type)});
  }

  Program classifier() {
    const Transform transform = this->transform(1);
    const Value labels = read_labels(message_);
    const int64_t classes = labels.type.list_length;
    const Encoding encoding = this->encoding();
    check_rows(encoding, classes);
    if (transform == Transform::Probit && classes > 2) {
      fail(ErrorCode::InvalidFile, "Probit is for two classes, there are {}", classes);
    }
    Var* scores = this->scores();
    Var* probabilities = classes == 2                           ? of_two(apply(transform, scores))
                         : encoding == Encoding::ReferenceClass ? with_reference(scores)
                                                                : shares(apply(transform, scores));
    return classify(probabilities, labels);
  }

 private:
  const Feature& predicted() const {
    for (const Feature& output : description_.outputs) {
      if (output.name == description_.predicted_feature_name) return output;
    }
    fail(ErrorCode::InvalidFile, "no output '{}', which the description names for the prediction",
         description_.predicted_feature_name);
  }

  Transform transform(int32_t first) const {
    const int64_t value = int64_t{message_.transform()} + first;
    if (message_.transform() >= 0 && value <= static_cast<int64_t>(Transform::Probit)) {
      return static_cast<Transform>(value);
    }
    fail(ErrorCode::InvalidFile, "no postEvaluationTransform has the number {}",
         message_.transform());
  }

  Encoding encoding() const {
    if (message_.class_encoding() == 0) return Encoding::ReferenceClass;
    if (message_.class_encoding() == 1) return Encoding::OneVsRest;
    fail(ErrorCode::InvalidFile, "no classEncoding has the number {}", message_.class_encoding());
  }

  // One row separates two classes; the first class has no row if it is the reference.
  void check_rows(Encoding encoding, int64_t classes) const {
    if (classes == 0) fail(ErrorCode::InvalidFile, "a classifier without class labels");
    const bool without_first = encoding == Encoding::ReferenceClass || classes == 2;
    const int64_t expected = classes - (without_first ? 1 : 0);
    if (rows_ != expected) {
      fail(ErrorCode::InvalidFile, "{} rows of weights for {} classes, {} are needed", rows_,
           classes, expected);
    }
  }

  // Concatenates all inputs.
  Var* features() {
    std::vector<RowPiece> pieces;
    for (const Feature& input : description_.inputs) pieces.push_back({&input, kUnknownDim});
    Var* row = to_.add_row(pieces);
    const int64_t count = row->type.dims.front();
    if (count >= 0 && count != width_) {
      fail(ErrorCode::InvalidFile, "the inputs have {} numbers, a row of weights {}", count,
           width_);
    }
    return row;
  }

  Var* scores() {
    if (rows_ == 0) fail(ErrorCode::InvalidFile, "no weights");
    if (message_.offset_size() != rows_) {
      fail(ErrorCode::InvalidFile, "{} rows of weights and {} offsets", rows_,
           message_.offset_size());
    }
    width_ = message_.weights(0).values_size();
    std::vector<double> weights;
    for (const auto& row : message_.weights()) {
      if (row.values_size() != width_ || width_ == 0) {
        fail(ErrorCode::InvalidFile, "a row of {} weights, the first has {}", row.values_size(),
             width_);
      }
      weights.insert(weights.end(), row.values().begin(), row.values().end());
    }
    const std::vector<double> offsets(message_.offset().begin(), message_.offset().end());
    Var* x = features();
    Var* weight =
        to_.add_constant("weight", Value::of_floats(DataType::Float64, weights, {rows_, width_}));
    Var* bias = to_.add_constant("offset", Value::of_floats(DataType::Float64, offsets, {rows_}));
    return to_.add("linear", vector_type(rows_),
                   {{"x", {x}}, {"weight", {weight}}, {"bias", {bias}}});
  }

  Var* apply(Transform transform, Var* x) {
    if (transform == Transform::None) return x;
    const ValueType type = x->type;
    if (transform == Transform::Logit) return to_.add("sigmoid", type, {{"x", {x}}});
    // The normal distribution's cumulative probability at x.
    Var* scaled = to_.add("mul", type, {{"x", {x}}, {"y", {number(1 / std::numbers::sqrt2)}}});
    Var* erf = to_.add("erf", type, {{"x", {scaled}}});
    Var* sum = to_.add("add", type, {{"x", {erf}}, {"y", {number(1)}}});
    return to_.add("mul", type, {{"x", {sum}}, {"y", {number(0.5)}}});
  }

  // `p` is the second class's probability.
  Var* of_two(Var* p) {
    Var* rest = to_.add("sub", p->type, {{"x", {number(1)}}, {"y", {p}}});
    return joined(rest, p, 2);
  }

  // The first class has the score 0.
  Var* with_reference(Var* scores) {
    const double zero = 0;
    Var* first =
        to_.add_constant("reference", Value::of_floats(DataType::Float64, {&zero, 1}, {1}));
    Var* all = joined(first, scores, rows_ + 1);
    return to_.add("softmax", all->type, {{"x", {all}}, {"axis", {Value::of_int32(0)}}});
  }

  // Divides by the sum; zeros if the sum is zero.
  Var* shares(Var* x) {
    Var* sum =
        to_.add("reduce_sum", vector_type(1), {{"x", {x}}, {"keep_dims", {Value::of_bool(true)}}});
    Var* divisor = to_.add("maximum", vector_type(1),
                           {{"x", {sum}}, {"y", {number(std::numeric_limits<double>::min())}}});
    return to_.add("real_div", x->type, {{"x", {x}}, {"y", {divisor}}});
  }

  Var* joined(Var* first, Var* rest, int64_t size) {
    return to_.add("concat", vector_type(size),
                   {{"values", {first, rest}}, {"axis", {Value::of_int32(0)}}});
  }

  Program classify(Var* probabilities, const Value& labels) {
    const DataType key = labels.type.parameters.front().data_type;
    const Feature& label = predicted();
    if (label.kind != (key == DataType::String ? Feature::Kind::String : Feature::Kind::Int64)) {
      fail(ErrorCode::InvalidFile, "the output '{}' is of another kind than the class labels",
           label.name);
    }
    ValueType dictionary;
    dictionary.kind = ValueType::Kind::Dictionary;
    dictionary.parameters = {ValueType::scalar(key), ValueType::scalar(DataType::Float64)};
    Var* classes = to_.add_constant("classes", labels);
    Operation& last =
        to_.append("classify", {{"probabilities", {probabilities}}, {"classes", {classes}}});
    std::vector<Var*> outputs = {last.add_output(label.name, ValueType::scalar(key))};
    const std::string& name = description_.predicted_probabilities_name;
    const auto declared = std::find_if(description_.outputs.begin(), description_.outputs.end(),
                                       [&](const Feature& output) { return output.name == name; });
    if (declared == description_.outputs.end()) {
      last.add_output(to_.free_name("probabilities"), dictionary);
      return to_.finish(std::move(outputs));
    }
    if (declared->kind != Feature::Kind::Dictionary ||
        declared->string_keys != (key == DataType::String)) {
      fail(ErrorCode::InvalidFile, "the output '{}' is not a dictionary of the class labels", name);
    }
    outputs.push_back(last.add_output(name, dictionary));
    return to_.finish(std::move(outputs));
  }

  const proto::LinearModel& message_;
  const FunctionDescription& description_;
  Translation to_;
  const int64_t rows_;
  int64_t width_ = 0;  // length of a row of weights
};

}  // namespace

Program translate_linear_model(const proto::LinearModel& message, ModelKind kind,
                               const FunctionDescription& description) {
  LinearModelTranslation translation(message, description);
  return kind == ModelKind::GlmRegressor ? translation.regressor() : translation.classifier();
}

}  // namespace pippin::mil
