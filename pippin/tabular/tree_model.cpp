// Regressors and classifiers of trees. Facts: Core ML's TreeEnsemble.proto.
#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/tabular/classes.h"
#include "pippin/tabular/feature_row.h"
#include "pippin/tabular/forest.h"
#include "pippin/tabular/transforms.h"

namespace pippin::tabular {
namespace {

enum class TreeTransform : uint8_t { None, SoftMax, Logistic, SoftMaxWithZero };

TreeTransform read_tree_transform(int32_t number) {
  if (number >= 0 && number <= static_cast<int32_t>(TreeTransform::SoftMaxWithZero)) {
    return static_cast<TreeTransform>(number);
  }
  fail(ErrorCode::InvalidFile, "unknown postEvaluationTransform {}", number);
}

std::string_view name_of(TreeTransform transform) {
  switch (transform) {
    case TreeTransform::None:
      return "none";
    case TreeTransform::SoftMax:
      return "softmax";
    case TreeTransform::Logistic:
      return "logistic";
    case TreeTransform::SoftMaxWithZero:
      return "softmax with the first class as zero";
  }
  return {};
}

std::vector<double> transformed(TreeTransform transform, std::vector<double> sums) {
  if (transform == TreeTransform::SoftMaxWithZero) return softmax_with_zero(sums);
  if (transform == TreeTransform::SoftMax) softmax(sums);
  if (transform == TreeTransform::Logistic) {
    for (double& sum : sums) sum = logistic(sum);
  }
  return sums;
}

class TreeModel : public Stage {
 public:
  TreeModel(const proto::TreeModel& message, const Interface& interface)
      : forest_(message.ensemble()),
        transform_(read_tree_transform(message.transform())),
        row_(interface, forest_.num_features(), FeatureRow::Width::AtLeast) {}

  Parameters parameters() const override {
    return {{"trees", fmt::format("{}", forest_.num_trees())},
            {"nodes", fmt::format("{}", forest_.num_nodes())},
            {"dimensions", fmt::format("{}", forest_.dimensions())},
            {"transform", std::string(name_of(transform_))}};
  }

 protected:
  std::vector<double> evaluate(std::span<const Value> inputs) const {
    return transformed(transform_, forest_.sums(row_.read(inputs)));
  }
  // The number of values that evaluate() returns.
  size_t num_results() const {
    return forest_.dimensions() + (transform_ == TreeTransform::SoftMaxWithZero ? 1 : 0);
  }

 private:
  const Forest forest_;
  const TreeTransform transform_;
  const FeatureRow row_;
};

class TreeRegressor : public TreeModel {
 public:
  TreeRegressor(const proto::TreeModel& message, const Interface& interface)
      : TreeModel(message, interface),
        output_(regressor_output(interface, static_cast<int64_t>(num_results()))) {}

  std::vector<Value> run(std::span<const Value> inputs) const override {
    return {number_output(output_, evaluate(inputs))};
  }

 private:
  const Field output_;
};

class TreeClassifier : public TreeModel {
 public:
  TreeClassifier(const proto::TreeModel& message, const Interface& interface)
      : TreeModel(message, interface),
        classes_(read_labels(message.has_string_labels() ? &message.string_labels() : nullptr,
                             message.has_int64_labels() ? &message.int64_labels() : nullptr),
                 interface) {
    // One value is the second class's probability.
    const bool of_two = num_results() == 1 && classes_.size() == 2;
    if (num_results() == classes_.size() || of_two) return;
    fail(ErrorCode::InvalidFile, "there are {} values for {} classes", num_results(),
         classes_.size());
  }

  std::vector<Value> run(std::span<const Value> inputs) const override {
    std::vector<double> values = evaluate(inputs);
    if (values.size() < classes_.size()) values = {1 - values[0], values[0]};
    return classes_.outputs(values);
  }

  const Labels* labels() const override { return &classes_.labels(); }

 private:
  const Classes classes_;
};

}  // namespace

StagePtr read_tree_regressor(const proto::TreeModel& message, const Interface& interface) {
  return std::make_unique<TreeRegressor>(message, interface);
}

StagePtr read_tree_classifier(const proto::TreeModel& message, const Interface& interface) {
  return std::make_unique<TreeClassifier>(message, interface);
}

}  // namespace pippin::tabular
