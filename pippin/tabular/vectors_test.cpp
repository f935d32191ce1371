// Support vectors and nearest neighbors, compared with their formulas.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/tabular/coupling.h"
#include "pippin/tabular/stage_testing.h"

namespace pippin::tabular {
namespace {

constexpr int64_t kVectorRegressor = 301, kVectorClassifier = 401, kNeighbors = 404;
using Doubles = std::vector<double>;

class Numbers {
 public:
  explicit Numbers(uint32_t seed) : random_(seed) {}
  double one() { return normal_(random_); }
  Doubles several(size_t count) {
    Doubles result(count);
    for (double& value : result) value = one();
    return result;
  }
  // About half of them zero.
  Doubles sparse(size_t count) {
    Doubles result = several(count);
    for (double& value : result) value = random_() % 2 == 0 ? 0 : value;
    return result;
  }

 private:
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
};

proto::Kernel kernel_message(int kind) {
  proto::Kernel kernel;
  if (kind == 0) kernel.mutable_linear();
  if (kind == 1) kernel.mutable_rbf()->set_gamma(0.3);
  if (kind == 2) {
    kernel.mutable_poly()->set_degree(3);
    kernel.mutable_poly()->set_c(0.5);
    kernel.mutable_poly()->set_gamma(0.25);
  }
  if (kind == 3) {
    kernel.mutable_sigmoid()->set_c(-0.25);
    kernel.mutable_sigmoid()->set_gamma(0.5);
  }
  return kernel;
}

double kernel_value(int kind, const Doubles& a, const Doubles& b) {
  double dot = 0, distance = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    dot += a[i] * b[i];
    distance += (a[i] - b[i]) * (a[i] - b[i]);
  }
  if (kind == 1) return std::exp(-0.3 * distance);
  if (kind == 2) return (0.25 * dot + 0.5) * (0.25 * dot + 0.5) * (0.25 * dot + 0.5);
  return kind == 3 ? std::tanh(0.5 * dot - 0.25) : dot;
}

template <typename Message>
void add_vectors(Message& message, const std::vector<Doubles>& vectors, bool sparse) {
  for (const Doubles& vector : vectors) {
    if (!sparse) {
      auto& values = *message.mutable_dense()->add_vectors()->mutable_values();
      values.Add(vector.begin(), vector.end());
      continue;
    }
    proto::SparseVector& target = *message.mutable_sparse()->add_vectors();
    for (size_t i = 0; i < vector.size(); ++i) {
      if (vector[i] == 0) continue;
      target.add_nodes()->set_index(static_cast<int32_t>(i) + 1);
      target.mutable_nodes(target.nodes_size() - 1)->set_value(vector[i]);
    }
  }
}

TEST(SupportVectors, RegressorsOfEveryKernel) {
  for (int kind = 0; kind < 4; ++kind) {
    for (const bool sparse : {false, true}) {
      Numbers numbers(static_cast<uint32_t>(kind));
      std::vector<Doubles> vectors;
      for (int i = 0; i < 6; ++i) vectors.push_back(numbers.sparse(5));
      const Doubles alpha = numbers.several(vectors.size());
      proto::VectorRegressor message;
      *message.mutable_kernel() = kernel_message(kind);
      add_vectors(message, vectors, sparse);
      message.mutable_coefficients()->mutable_values()->Add(alpha.begin(), alpha.end());
      message.set_rho(0.7);
      const StagePtr stage =
          stage_of(kVectorRegressor, message, row_interface(5, field("y", Field::Type::Double)));
      for (int round = 0; round < 10; ++round) {
        const Doubles x = numbers.several(5);
        double expected = -0.7;
        for (size_t i = 0; i < alpha.size(); ++i) {
          expected += alpha[i] * kernel_value(kind, vectors[i], x);
        }
        EXPECT_NEAR(to_number(run_one(*stage, row(x))), expected, 1e-12);
      }
    }
  }
}

TEST(SupportVectors, DistancesContainPositionsWithoutVectors) {
  proto::VectorRegressor message;
  *message.mutable_kernel() = kernel_message(1);
  add_vectors(message, {{1, 2}}, true);
  message.mutable_coefficients()->mutable_values()->Add(1.0);
  Interface interface;
  interface.inputs = {dictionary_field("x", false)};
  interface.outputs = {field("y", Field::Type::Double)};
  const StagePtr stage = stage_of(kVectorRegressor, message, interface);
  const Dictionary x{std::vector<int64_t>{4, 1}, {3, 1}};
  EXPECT_NEAR(to_number(run_one(*stage, x)), std::exp(-0.3 * (1 + 1 + 9)), 1e-12);
}

// Three classes of 2, 3 and 1 vectors.
class ThreeClasses {
 public:
  explicit ThreeClasses(bool probabilities) : numbers_(5) {
    for (int i = 0; i < 6; ++i) vectors_.push_back(numbers_.several(3));
    *message_.mutable_kernel() = kernel_message(1);
    add_vectors(message_, vectors_, false);
    for (const int count : {2, 3, 1}) message_.add_vectors_per_class(count);
    for (int i = 0; i < 2; ++i) {
      coefficients_.push_back(numbers_.several(6));
      message_.add_coefficients()->mutable_values()->Add(coefficients_[i].begin(),
                                                         coefficients_[i].end());
    }
    for (const double rho : {0.1, -0.2, 0.3}) message_.add_rho(rho);
    for (int pair = 0; probabilities && pair < 3; ++pair) {
      message_.add_prob_a(-2);
      message_.add_prob_b(0.25);
    }
    for (const int label : {7, 8, 9}) message_.mutable_int64_labels()->add_values(label);
  }

  // Written out for the pairs (0, 1), (0, 2), (1, 2).
  Doubles decisions(const Doubles& x) const {
    Doubles k;
    for (const Doubles& vector : vectors_) k.push_back(kernel_value(1, vector, x));
    const auto& [a, b] = std::tie(coefficients_[0], coefficients_[1]);
    return {a[0] * k[0] + a[1] * k[1] + a[2] * k[2] + a[3] * k[3] + a[4] * k[4] - 0.1,
            b[0] * k[0] + b[1] * k[1] + a[5] * k[5] + 0.2,
            b[2] * k[2] + b[3] * k[3] + b[4] * k[4] + b[5] * k[5] - 0.3};
  }

  Numbers numbers_;
  std::vector<Doubles> vectors_, coefficients_;
  proto::VectorClassifier message_;
};

TEST(SupportVectors, ClassesVoteInPairs) {
  ThreeClasses classes(false);
  Interface interface = classifier_interface(3);
  interface.outputs.pop_back();
  const StagePtr stage = stage_of(kVectorClassifier, classes.message_, interface);
  for (int round = 0; round < 50; ++round) {
    const Doubles x = classes.numbers_.several(3), d = classes.decisions(x);
    const int votes[] = {(d[0] > 0) + (d[1] > 0), (d[0] <= 0) + (d[2] > 0),
                         (d[1] <= 0) + (d[2] <= 0)};
    EXPECT_EQ(to_integer(run_one(*stage, row(x))),
              std::max_element(std::begin(votes), std::end(votes)) - std::begin(votes) + 7);
  }
}

TEST(SupportVectors, ProbabilitiesCoupleThePairs) {
  ThreeClasses classes(true);
  const StagePtr stage = stage_of(kVectorClassifier, classes.message_, classifier_interface(3));
  for (int round = 0; round < 50; ++round) {
    const Doubles x = classes.numbers_.several(3);
    Doubles pairs;
    for (const double d : classes.decisions(x)) pairs.push_back(1 / (1 + std::exp(-2 * d + 0.25)));
    const Value input = row(x);
    const std::vector<Value> outputs = stage->run({&input, 1});
    const Doubles found = numbers(outputs.at(1)), expected = coupled(pairs, 3);
    EXPECT_NEAR(found[0] + found[1] + found[2], 1, 1e-12);
    for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(found[i], expected[i], 1e-12);
    EXPECT_EQ(std::get<int64_t>(outputs[0]),
              std::max_element(found.begin(), found.end()) - found.begin() + 7);
  }
}

// Pairs that agree with some probabilities, p_i / (p_i + p_j), yield these, as exactly as the
// stopping rule allows.
TEST(Coupling, RecoversConsistentProbabilities) {
  const Doubles wanted = {0.5, 0.3, 0.15, 0.05};
  Doubles pairs;
  for (size_t i = 0; i < wanted.size(); ++i) {
    for (size_t j = i + 1; j < wanted.size(); ++j) {
      pairs.push_back(wanted[i] / (wanted[i] + wanted[j]));
    }
  }
  const Doubles found = coupled(pairs, wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 0.02);
  EXPECT_EQ(coupled({0.25}, 2), (Doubles{0.25, 0.75}));
}

TEST(SupportVectors, Faults) {
  const auto error = [](auto&& change) {
    ThreeClasses classes(true);
    change(classes.message_);
    try {
      stage_of(kVectorClassifier, classes.message_, classifier_interface(3));
    } catch (const Error& fault) {
      return std::string(fault.what());
    }
    return std::string("none");
  };
  using Message = proto::VectorClassifier;
  EXPECT_EQ(error([](Message&) {}), "none");
  EXPECT_EQ(error([](Message& m) { m.clear_kernel(); }), "the support vectors have no kernel");
  EXPECT_EQ(error([](Message& m) { m.clear_vectors(); }), "the model has no support vectors");
  EXPECT_EQ(error([](Message& m) { m.set_vectors_per_class(0, 3); }),
            "there are 6 support vectors, the classes have 7");
  EXPECT_EQ(error([](Message& m) { m.set_vectors_per_class(0, -1); }),
            "a class has -1 support vectors");
  EXPECT_EQ(error([](Message& m) { m.add_vectors_per_class(0); }),
            "there are 4 numbers of support vectors for 3 classes");
  EXPECT_EQ(error([](Message& m) { m.add_rho(0); }),
            "there are 4 values of rho for 3 pairs of classes");
  EXPECT_EQ(error([](Message& m) { m.add_prob_a(0); }),
            "there are 4 values of probA and 3 of probB for 3 pairs of classes");
  EXPECT_EQ(error([](Message& m) { *m.add_coefficients() = m.coefficients(0); }),
            "there are 3 rows of coefficients for 3 classes, 2 are needed");
  EXPECT_EQ(error([](Message& m) { m.mutable_coefficients(0)->add_values(0); }),
            "there are 7 coefficients for 6 support vectors");
  EXPECT_EQ(error([](Message& m) { m.mutable_dense()->mutable_vectors(2)->add_values(0); }),
            "a support vector has 4 numbers, the first has 3");
  EXPECT_EQ(error([](Message& m) {
              proto::SparseVector& vector = *m.mutable_sparse()->add_vectors();
              vector.add_nodes()->set_index(2);
              vector.add_nodes()->set_index(2);
            }),
            "a support vector has index 2 after 2");
}

proto::NeighborsClassifier points(bool by_distance, int64_t neighbors) {
  proto::NeighborsClassifier message;
  message.mutable_index()->set_dimensions(2);
  const float places[][2] = {{0, 0}, {0, 1}, {4, 0}, {4, 1}, {5, 0}};
  for (const auto& place : places) {
    proto::Floats& sample = *message.mutable_index()->add_samples();
    sample.add_values(place[0]);
    sample.add_values(place[1]);
  }
  for (const int label : {1, 1, 2, 2, 3}) message.mutable_int64_labels()->add_values(label);
  message.mutable_neighbors()->set_default_value(neighbors);
  if (by_distance) message.mutable_inverse_distance();
  return message;
}

TEST(NearestNeighbors, Vote) {
  const auto outputs = [](const proto::NeighborsClassifier& message, const Doubles& x) {
    const Value input = row(x);
    return stage_of(kNeighbors, message, classifier_interface(2))->run({&input, 1});
  };
  EXPECT_EQ(to_integer(outputs(points(false, 3), {0, 0.5}).at(0)), 1);
  EXPECT_EQ(to_integer(outputs(points(false, 3), {4.6, 0.1}).at(0)), 2);
  EXPECT_EQ(to_integer(outputs(points(true, 3), {4.95, 0.0}).at(0)), 3);
  const Doubles odds = numbers(outputs(points(false, 4), {5, 0}).at(1));
  EXPECT_EQ(odds, (Doubles{0.25, 0.5, 0.25}));
  // A sample at distance 0 decides.
  EXPECT_EQ(numbers(outputs(points(true, 5), {5, 0}).at(1)), (Doubles{0, 0, 1}));
  proto::NeighborsClassifier empty;
  empty.mutable_index()->set_dimensions(2);
  empty.mutable_neighbors()->set_default_value(1);
  empty.set_default_int64(-4);
  EXPECT_EQ(to_integer(outputs(empty, {1, 2}).at(0)), -4);
  EXPECT_THROW(outputs(points(false, 0), {0, 0}), Error);
  proto::NeighborsClassifier fewer = points(false, 1);
  fewer.mutable_int64_labels()->add_values(1);
  EXPECT_THROW(outputs(fewer, {0, 0}), Error);
}

}  // namespace
}  // namespace pippin::tabular
