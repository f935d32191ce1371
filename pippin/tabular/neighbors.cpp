// k-nearest-neighbors classifiers. Facts: Core ML's NearestNeighbors.proto. The format can select a
// kd-tree, which speeds up searches but does not change the result.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/tabular/classes.h"
#include "pippin/tabular/feature_row.h"
#include "pippin/tabular/readers.h"
#include "pippin/tabular/transforms.h"

namespace pippin::tabular {
namespace {

// The labels without repetitions, in order, and the index of each sample's label in them.
struct DistinctLabels {
  Labels labels;
  std::vector<uint32_t> of_sample;
};

DistinctLabels distinct(const Labels& labels) {
  DistinctLabels result;
  std::visit(
      [&](const auto& list) {
        using List = std::decay_t<decltype(list)>;
        List unique;
        std::map<typename List::value_type, uint32_t> known;
        for (const auto& label : list) {
          const auto [found, added] = known.emplace(label, static_cast<uint32_t>(unique.size()));
          if (added) unique.push_back(label);
          result.of_sample.push_back(found->second);
        }
        result.labels = std::move(unique);
      },
      labels);
  return result;
}

// Without samples, the default is the only class.
DistinctLabels distinct_of(const proto::NeighborsClassifier& message) {
  if (message.has_int64_labels() && message.int64_labels().values_size() > 0) {
    return distinct(read_labels(nullptr, &message.int64_labels()));
  }
  if (message.has_string_labels() && message.string_labels().values_size() > 0) {
    return distinct(read_labels(&message.string_labels(), nullptr));
  }
  switch (message.default_label_case()) {
    case proto::NeighborsClassifier::kDefaultInt64:
      return {std::vector<int64_t>{message.default_int64()}, {}};
    case proto::NeighborsClassifier::kDefaultString:
      return {std::vector<std::string>{read_text(message.default_string(), "a label")}, {}};
    case proto::NeighborsClassifier::DEFAULT_LABEL_NOT_SET:
      break;
  }
  fail(ErrorCode::InvalidFile, "the classifier has no class labels");
}

class NeighborsClassifier : public Stage {
 public:
  NeighborsClassifier(const proto::NeighborsClassifier& message, const Interface& interface)
      : width_(width_of(message)),
        row_(interface, width_, FeatureRow::Width::Exact),
        by_distance_(message.has_inverse_distance()) {
    DistinctLabels labels = distinct_of(message);
    classes_.emplace(std::move(labels.labels), interface);
    label_of_ = std::move(labels.of_sample);
    read_samples(message.index());
    const int64_t neighbors = message.neighbors().default_value();
    if (neighbors < 1)
      fail(ErrorCode::InvalidFile, "numberOfNeighbors is {}, not above 0", neighbors);
    neighbors_ = std::min(static_cast<size_t>(neighbors), label_of_.size());
  }

  std::vector<Value> run(std::span<const Value> inputs) const override {
    const std::vector<double> x = row_.read(inputs);
    std::vector<std::pair<double, uint32_t>> nearest;  // squared distance, sample
    nearest.reserve(label_of_.size());
    for (size_t i = 0; i < label_of_.size(); ++i) {
      nearest.emplace_back(squared_distance(i, x), static_cast<uint32_t>(i));
    }
    const auto middle = nearest.begin() + static_cast<std::ptrdiff_t>(neighbors_);
    std::partial_sort(nearest.begin(), middle, nearest.end());
    nearest.erase(middle, nearest.end());
    std::vector<double> votes(classes_->size(), 0.0);
    for (const auto& [distance, sample] : nearest) votes[label_of_[sample]] += weight(distance);
    if (nearest.empty()) return classes_->outputs({1.0});
    // Samples at distance 0 outvote all others.
    if (std::any_of(votes.begin(), votes.end(), [](double vote) { return std::isinf(vote); })) {
      for (double& vote : votes) vote = std::isinf(vote) ? 1.0 : 0.0;
    }
    divide_by_sum(votes);
    return classes_->outputs(votes);
  }

  const Labels* labels() const override { return &classes_->labels(); }

  Parameters parameters() const override {
    return {{"samples", fmt::format("{}", label_of_.size())},
            {"dimensions", fmt::format("{}", width_)},
            {"neighbors", fmt::format("{}", neighbors_)},
            {"weighting", by_distance_ ? "inverse distance" : "uniform"}};
  }

 private:
  static size_t width_of(const proto::NeighborsClassifier& message) {
    const int32_t width = message.index().dimensions();
    if (width < 1) fail(ErrorCode::InvalidFile, "the samples have {} dimensions", width);
    return static_cast<size_t>(width);
  }

  void read_samples(const proto::NeighborsIndex& index) {
    if (static_cast<size_t>(index.samples_size()) != label_of_.size()) {
      fail(ErrorCode::InvalidFile, "there are {} labels for {} samples", label_of_.size(),
           index.samples_size());
    }
    for (const proto::Floats& sample : index.samples()) {
      if (static_cast<size_t>(sample.values_size()) != width_) {
        fail(ErrorCode::InvalidFile, "a sample has {} numbers, the others have {}",
             sample.values_size(), width_);
      }
      samples_.insert(samples_.end(), sample.values().begin(), sample.values().end());
    }
  }

  double squared_distance(size_t sample, const std::vector<double>& x) const {
    const float* values = samples_.data() + sample * width_;
    double sum = 0;
    for (size_t i = 0; i < width_; ++i) sum += (x[i] - values[i]) * (x[i] - values[i]);
    return sum;
  }

  double weight(double squared) const { return by_distance_ ? 1 / std::sqrt(squared) : 1.0; }

  const size_t width_;
  const FeatureRow row_;
  const bool by_distance_;
  std::optional<Classes> classes_;
  std::vector<uint32_t> label_of_;
  std::vector<float> samples_;
  size_t neighbors_ = 0;
};

}  // namespace

StagePtr read_neighbors(const proto::NeighborsClassifier& message, const Interface& interface) {
  return std::make_unique<NeighborsClassifier>(message, interface);
}

}  // namespace pippin::tabular
