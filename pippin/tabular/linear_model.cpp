// GLM regressors and classifiers. Facts: Core ML's GLMRegressor.proto and GLMClassifier.proto.
#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/tabular/classes.h"
#include "pippin/tabular/feature_row.h"
#include "pippin/tabular/readers.h"
#include "pippin/tabular/transforms.h"

namespace pippin::tabular {
namespace {

// Values of postEvaluationTransform count from here in regressors, from Logit in classifiers.
enum class LinearTransform : uint8_t { None, Logit, Probit };
enum class Encoding : uint8_t { ReferenceClass, OneVsRest };

LinearTransform read_transform(const proto::LinearModel& message, int first) {
  const int64_t value = int64_t{message.transform()} + first;
  if (message.transform() >= 0 && value <= static_cast<int64_t>(LinearTransform::Probit)) {
    return static_cast<LinearTransform>(value);
  }
  fail(ErrorCode::InvalidFile, "unknown postEvaluationTransform {}", message.transform());
}

std::string_view name_of(LinearTransform transform) {
  if (transform == LinearTransform::None) return "none";
  return transform == LinearTransform::Logit ? "logit" : "probit";
}

void apply(LinearTransform transform, std::vector<double>& scores) {
  for (double& score : scores) {
    if (transform == LinearTransform::Logit) score = logistic(score);
    if (transform == LinearTransform::Probit) score = probit(score);
  }
}

// Rows of weights with an offset each.
class Weights {
 public:
  explicit Weights(const proto::LinearModel& message)
      : offsets_(message.offset().begin(), message.offset().end()) {
    const int rows = message.weights_size();
    if (rows == 0) fail(ErrorCode::InvalidFile, "the model has no weights");
    if (message.offset_size() != rows) {
      fail(ErrorCode::InvalidFile, "there are {} rows of weights and {} offsets", rows,
           message.offset_size());
    }
    width_ = static_cast<size_t>(message.weights(0).values_size());
    weights_.reserve(width_ * static_cast<size_t>(rows));
    for (const auto& row : message.weights()) {
      if (row.values_size() != static_cast<int>(width_) || width_ == 0) {
        fail(ErrorCode::InvalidFile, "a row has {} weights, the first has {}", row.values_size(),
             width_);
      }
      weights_.insert(weights_.end(), row.values().begin(), row.values().end());
    }
  }

  size_t rows() const { return offsets_.size(); }
  size_t width() const { return width_; }

  std::vector<double> scores(const std::vector<double>& x) const {
    std::vector<double> result;
    result.reserve(rows());
    const double* weight = weights_.data();
    for (const double offset : offsets_) {
      double sum = 0;
      for (size_t i = 0; i < width_; ++i) sum += weight[i] * x[i];
      weight += width_;
      result.push_back(sum + offset);
    }
    return result;
  }

 private:
  std::vector<double> weights_, offsets_;
  size_t width_ = 0;
};

Stage::Parameters parameters_of(const Weights& weights, LinearTransform transform) {
  return {{"features", fmt::format("{}", weights.width())},
          {"rows", fmt::format("{}", weights.rows())},
          {"transform", std::string(name_of(transform))}};
}

class LinearRegressor : public Stage {
 public:
  LinearRegressor(const proto::LinearModel& message, const Interface& interface)
      : weights_(message),
        transform_(read_transform(message, 0)),
        row_(interface, weights_.width(), FeatureRow::Width::Exact),
        output_(regressor_output(interface, static_cast<int64_t>(weights_.rows()))) {}

  std::vector<Value> run(std::span<const Value> inputs) const override {
    std::vector<double> scores = weights_.scores(row_.read(inputs));
    apply(transform_, scores);
    return {number_output(output_, std::move(scores))};
  }

  Parameters parameters() const override { return parameters_of(weights_, transform_); }

 private:
  const Weights weights_;
  const LinearTransform transform_;
  const FeatureRow row_;
  const Field output_;
};

class LinearClassifier : public Stage {
 public:
  LinearClassifier(const proto::LinearModel& message, const Interface& interface)
      : classes_(read_labels(message.has_string_labels() ? &message.string_labels() : nullptr,
                             message.has_int64_labels() ? &message.int64_labels() : nullptr),
                 interface),
        weights_(message),
        transform_(read_transform(message, 1)),
        row_(interface, weights_.width(), FeatureRow::Width::Exact) {
    if (message.class_encoding() < 0 || message.class_encoding() > 1) {
      fail(ErrorCode::InvalidFile, "unknown classEncoding {}", message.class_encoding());
    }
    encoding_ = static_cast<Encoding>(message.class_encoding());
    check_rows();
    if (transform_ == LinearTransform::Probit && classes_.size() > 2) {
      fail(ErrorCode::InvalidFile, "Probit is for two classes, there are {}", classes_.size());
    }
  }

  std::vector<Value> run(std::span<const Value> inputs) const override {
    std::vector<double> scores = weights_.scores(row_.read(inputs));
    if (classes_.size() == 2) {
      apply(transform_, scores);
      return classes_.outputs({1 - scores[0], scores[0]});
    }
    if (encoding_ == Encoding::ReferenceClass) return classes_.outputs(softmax_with_zero(scores));
    apply(transform_, scores);
    divide_by_sum(scores);
    return classes_.outputs(scores);
  }

  const Labels* labels() const override { return &classes_.labels(); }

  Parameters parameters() const override {
    Parameters result = parameters_of(weights_, transform_);
    result.emplace_back("encoding",
                        encoding_ == Encoding::OneVsRest ? "one versus rest" : "reference class");
    return result;
  }

 private:
  // One row separates two classes; the first class has no row if it is the reference.
  void check_rows() const {
    const bool without_first = encoding_ == Encoding::ReferenceClass || classes_.size() == 2;
    const size_t expected = classes_.size() - (without_first ? 1 : 0);
    if (weights_.rows() == expected) return;
    fail(ErrorCode::InvalidFile, "there are {} rows of weights for {} classes, {} are needed",
         weights_.rows(), classes_.size(), expected);
  }

  const Classes classes_;
  const Weights weights_;
  const LinearTransform transform_;
  const FeatureRow row_;
  Encoding encoding_ = Encoding::ReferenceClass;
};

}  // namespace

StagePtr read_linear_regressor(const proto::LinearModel& message, const Interface& interface) {
  return std::make_unique<LinearRegressor>(message, interface);
}

StagePtr read_linear_classifier(const proto::LinearModel& message, const Interface& interface) {
  return std::make_unique<LinearClassifier>(message, interface);
}

}  // namespace pippin::tabular
