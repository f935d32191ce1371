// Support vector regressors and classifiers, with libsvm's formulas. Facts: Core ML's SVM.proto;
// Chang and Lin, LIBSVM: A Library for Support Vector Machines.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/tabular/classes.h"
#include "pippin/tabular/coupling.h"
#include "pippin/tabular/feature_row.h"
#include "pippin/tabular/support_vectors.h"

namespace pippin::tabular {
namespace {

FeatureRow row_of(const SupportVectors& vectors, const Interface& interface) {
  return {interface, vectors.width(),
          vectors.is_dense() ? FeatureRow::Width::Exact : FeatureRow::Width::AtLeast};
}

Stage::Parameters parameters_of(const SupportVectors& vectors) {
  return {{"support vectors", fmt::format("{}", vectors.size())},
          {"kernel", vectors.kernel().text()}};
}

template <typename Message>
SupportVectors vectors_of(const Message& message) {
  return {message.kernel(), message.has_sparse() ? &message.sparse() : nullptr,
          message.has_dense() ? &message.dense() : nullptr};
}

void check_coefficients(size_t count, const SupportVectors& vectors) {
  if (count == vectors.size()) return;
  fail(ErrorCode::InvalidFile, "there are {} coefficients for {} support vectors", count,
       vectors.size());
}

class VectorRegressor : public Stage {
 public:
  VectorRegressor(const proto::VectorRegressor& message, const Interface& interface)
      : vectors_(vectors_of(message)),
        coefficients_(message.coefficients().values().begin(),
                      message.coefficients().values().end()),
        rho_(message.rho()),
        row_(row_of(vectors_, interface)),
        output_(regressor_output(interface, 1)) {
    check_coefficients(coefficients_.size(), vectors_);
  }

  std::vector<Value> run(std::span<const Value> inputs) const override {
    const std::vector<double> kernels = vectors_.kernels(row_.read(inputs));
    const double sum =
        std::inner_product(kernels.begin(), kernels.end(), coefficients_.begin(), 0.0);
    return {number_output(output_, {sum - rho_})};
  }

  Parameters parameters() const override { return parameters_of(vectors_); }

 private:
  const SupportVectors vectors_;
  const std::vector<double> coefficients_;
  const double rho_;
  const FeatureRow row_;
  const Field output_;
};

class VectorClassifier : public Stage {
 public:
  VectorClassifier(const proto::VectorClassifier& message, const Interface& interface)
      : classes_(read_labels(message.has_string_labels() ? &message.string_labels() : nullptr,
                             message.has_int64_labels() ? &message.int64_labels() : nullptr),
                 interface),
        vectors_(vectors_of(message)),
        rho_(message.rho().begin(), message.rho().end()),
        prob_a_(message.prob_a().begin(), message.prob_a().end()),
        prob_b_(message.prob_b().begin(), message.prob_b().end()),
        row_(row_of(vectors_, interface)) {
    read_starts(message);
    for (const proto::Doubles& row : message.coefficients()) {
      check_coefficients(static_cast<size_t>(row.values_size()), vectors_);
      coefficients_.insert(coefficients_.end(), row.values().begin(), row.values().end());
    }
    check_sizes(static_cast<size_t>(message.coefficients_size()));
  }

  std::vector<Value> run(std::span<const Value> inputs) const override {
    const std::vector<double> decisions = this->decisions(vectors_.kernels(row_.read(inputs)));
    if (!prob_a_.empty()) return classes_.outputs(coupled(pair_probabilities(decisions), size()));
    std::vector<double> votes(size(), 0.0);
    size_t pair = 0;
    for (size_t i = 0; i < size(); ++i) {
      for (size_t j = i + 1; j < size(); ++j) ++votes[decisions[pair++] > 0 ? i : j];
    }
    const size_t predicted = first_largest(votes);
    for (double& vote : votes) vote /= std::max(1.0, static_cast<double>(decisions.size()));
    return classes_.outputs(predicted, votes);
  }

  const Labels* labels() const override { return &classes_.labels(); }

  Parameters parameters() const override {
    Parameters result = parameters_of(vectors_);
    result.emplace_back("probabilities", prob_a_.empty() ? "no" : "yes");
    return result;
  }

 private:
  size_t size() const { return classes_.size(); }

  // The vectors of class i are those from starts_[i] to starts_[i + 1].
  void read_starts(const proto::VectorClassifier& message) {
    if (message.vectors_per_class_size() != static_cast<int>(size())) {
      fail(ErrorCode::InvalidFile, "there are {} numbers of support vectors for {} classes",
           message.vectors_per_class_size(), size());
    }
    for (const int32_t count : message.vectors_per_class()) {
      if (count < 0) fail(ErrorCode::InvalidFile, "a class has {} support vectors", count);
      starts_.push_back(starts_.back() + static_cast<size_t>(count));
    }
    if (starts_.back() != vectors_.size()) {
      fail(ErrorCode::InvalidFile, "there are {} support vectors, the classes have {}",
           vectors_.size(), starts_.back());
    }
  }

  void check_sizes(size_t rows) const {
    const size_t pairs = size() * (size() - 1) / 2;
    if (rows + 1 != size()) {
      fail(ErrorCode::InvalidFile,
           "there are {} rows of coefficients for {} classes, {} are needed", rows, size(),
           size() - 1);
    }
    if (rho_.size() != pairs) {
      fail(ErrorCode::InvalidFile, "there are {} values of rho for {} pairs of classes",
           rho_.size(), pairs);
    }
    if (prob_a_.size() != prob_b_.size() || (!prob_a_.empty() && prob_a_.size() != pairs)) {
      fail(ErrorCode::InvalidFile,
           "there are {} values of probA and {} of probB for {} pairs of classes", prob_a_.size(),
           prob_b_.size(), pairs);
    }
  }

  double coefficient(size_t row, size_t vector) const {
    return coefficients_[row * vectors_.size() + vector];
  }

  // For each pair (i, j), i < j: above 0 for i.
  std::vector<double> decisions(const std::vector<double>& kernels) const {
    std::vector<double> result;
    result.reserve(rho_.size());
    for (size_t i = 0; i < size(); ++i) {
      for (size_t j = i + 1; j < size(); ++j) {
        double sum = 0;
        for (size_t s = starts_[i]; s < starts_[i + 1]; ++s) {
          sum += coefficient(j - 1, s) * kernels[s];
        }
        for (size_t s = starts_[j]; s < starts_[j + 1]; ++s) {
          sum += coefficient(i, s) * kernels[s];
        }
        result.push_back(sum - rho_[result.size()]);
      }
    }
    return result;
  }

  // The probability of i in each pair (i, j).
  std::vector<double> pair_probabilities(const std::vector<double>& decisions) const {
    constexpr double kLeast = 1e-7;
    std::vector<double> result(decisions.size());
    for (size_t k = 0; k < decisions.size(); ++k) {
      const double p = 1 / (1 + std::exp(prob_a_[k] * decisions[k] + prob_b_[k]));
      result[k] = std::clamp(p, kLeast, 1 - kLeast);
    }
    return result;
  }

  const Classes classes_;
  const SupportVectors vectors_;
  const std::vector<double> rho_, prob_a_, prob_b_;
  const FeatureRow row_;
  std::vector<size_t> starts_ = {0};
  std::vector<double> coefficients_;
};

}  // namespace

StagePtr read_vector_regressor(const proto::VectorRegressor& message, const Interface& interface) {
  return std::make_unique<VectorRegressor>(message, interface);
}

StagePtr read_vector_classifier(const proto::VectorClassifier& message,
                                const Interface& interface) {
  return std::make_unique<VectorClassifier>(message, interface);
}

}  // namespace pippin::tabular
