// Trees, compared with a walk over the messages.
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/tabular/stage_testing.h"

namespace pippin::tabular {
namespace {

constexpr int64_t kTreeRegressor = 302, kTreeClassifier = 402;
constexpr uint64_t kFeatures = 4;
const double kNaN = std::numeric_limits<double>::quiet_NaN();

// Numbers nodes of a tree at random, so that neither order nor values reveal the root.
class RandomTrees {
 public:
  RandomTrees(uint32_t seed, uint64_t dimensions) : random_(seed) {
    ensemble_.set_dimensions(dimensions);
    for (uint64_t i = 0; i < dimensions; ++i) ensemble_.add_base(number());
    for (uint64_t tree = 0; tree < 5; ++tree) {
      ids_.resize(64);
      for (size_t i = 0; i < ids_.size(); ++i) ids_[i] = i * 3;
      std::shuffle(ids_.begin(), ids_.end(), random_);
      grow(tree * 7, 0);
    }
  }

  const proto::TreeEnsemble& ensemble() const { return ensemble_; }

  std::vector<double> row() {
    std::vector<double> x(kFeatures);
    for (double& value : x) value = random_() % 6 == 0 ? kNaN : number();
    return x;
  }

 private:
  // Whole numbers, so that comparisons meet equal ones.
  double number() { return static_cast<double>(random_() % 7) - 3; }

  uint64_t grow(uint64_t tree, int depth) {
    const uint64_t id = ids_.back();
    ids_.pop_back();
    proto::TreeNode node;
    node.set_tree(tree);
    node.set_id(id);
    if (depth == 4 || random_() % 5 == 0) {
      node.set_behavior(6);
      proto::Evaluation& evaluation = *node.add_evaluations();
      evaluation.set_index(random_() % ensemble_.dimensions());
      evaluation.set_value(number() / 8);
    } else {
      node.set_behavior(static_cast<int32_t>(random_() % 6));
      node.set_feature(random_() % kFeatures);
      node.set_value(number());
      node.set_missing_is_true(random_() % 2 == 0);
      node.set_true_child(grow(tree, depth + 1));
      node.set_false_child(grow(tree, depth + 1));
    }
    if (depth == 0) roots_.push_back(node);
    *ensemble_.add_nodes() = node;
    return id;
  }

  std::mt19937 random_;
  std::vector<uint64_t> ids_;
  std::vector<proto::TreeNode> roots_;
  proto::TreeEnsemble ensemble_;

 public:
  std::vector<double> sums(const std::vector<double>& x) const {
    std::vector<double> result(ensemble_.base().begin(), ensemble_.base().end());
    for (proto::TreeNode node : roots_) {
      while (node.behavior() != 6) {
        const double value = x[node.feature()], limit = node.value();
        const bool answers[] = {value <= limit, value<limit, value >= limit, value> limit,
                                value == limit, value != limit};
        const bool yes = std::isnan(value) ? node.missing_is_true() : answers[node.behavior()];
        node = find(node.tree(), yes ? node.true_child() : node.false_child());
      }
      result[node.evaluations(0).index()] += node.evaluations(0).value();
    }
    return result;
  }

 private:
  proto::TreeNode find(uint64_t tree, uint64_t id) const {
    for (const proto::TreeNode& node : ensemble_.nodes()) {
      if (node.tree() == tree && node.id() == id) return node;
    }
    ADD_FAILURE() << "no node " << id;
    return {};
  }
};

TEST(Trees, RegressorsAddTheLeavesOfEveryTree) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const uint64_t dimensions = 1 + seed % 3;
    RandomTrees trees(seed, dimensions);
    proto::TreeModel message;
    *message.mutable_ensemble() = trees.ensemble();
    const auto size = static_cast<int64_t>(dimensions);
    const StagePtr stage = stage_of(
        kTreeRegressor, message, row_interface(kFeatures, field("y", Field::Type::Array, {size})));
    for (int i = 0; i < 20; ++i) {
      const std::vector<double> x = trees.row();
      EXPECT_EQ(numbers(run_one(*stage, row(x))), trees.sums(x)) << "seed " << seed;
    }
  }
}

std::vector<double> expected_odds(std::vector<double> sums, int transform, size_t classes) {
  if (transform == 3) sums.insert(sums.begin(), 0.0);
  double total = 0;
  for (double& sum : sums) {
    if (transform == 2) sum = 1 / (1 + std::exp(-sum));
    if (transform == 1 || transform == 3) total += sum = std::exp(sum);
  }
  for (double& sum : sums) sum /= total > 0 ? total : 1;
  if (sums.size() == 1 && classes == 2) return {1 - sums[0], sums[0]};
  return sums;
}

TEST(Trees, ClassifiersOfEveryTransform) {
  for (int transform = 0; transform < 4; ++transform) {
    for (const uint64_t dimensions : {1, 2, 3}) {
      const size_t classes = transform == 3    ? dimensions + 1
                             : dimensions == 1 ? 2
                                               : static_cast<size_t>(dimensions);
      RandomTrees trees(static_cast<uint32_t>(transform), dimensions);
      proto::TreeModel message;
      *message.mutable_ensemble() = trees.ensemble();
      message.set_transform(transform);
      for (size_t i = 0; i < classes; ++i) {
        message.mutable_int64_labels()->add_values(static_cast<int64_t>(i) * 10);
      }
      const StagePtr stage = stage_of(kTreeClassifier, message, classifier_interface(kFeatures));
      for (int i = 0; i < 20; ++i) {
        const std::vector<double> x = trees.row();
        const std::vector<double> odds = expected_odds(trees.sums(x), transform, classes);
        const Value input = row(x);
        const std::vector<Value> outputs = stage->run({&input, 1});
        const std::vector<double> found = numbers(outputs.at(1));
        ASSERT_EQ(found.size(), classes);
        for (size_t c = 0; c < classes; ++c) EXPECT_NEAR(found[c], odds[c], 1e-14);
        const auto best = std::max_element(odds.begin(), odds.end()) - odds.begin();
        EXPECT_EQ(std::get<int64_t>(outputs.at(0)), best * 10);
      }
    }
  }
}

// Node 5 tests whether the first feature is at most 1; 2 and 9 are leaves of 10 and 20.
proto::TreeModel stump() {
  proto::TreeModel model;
  proto::TreeEnsemble& ensemble = *model.mutable_ensemble();
  ensemble.set_dimensions(1);
  ensemble.add_base(0.5);
  proto::TreeNode& branch = *ensemble.add_nodes();
  branch.set_id(5);
  branch.set_value(1);
  branch.set_true_child(2);
  branch.set_false_child(9);
  for (const uint64_t id : {2, 9}) {
    proto::TreeNode& leaf = *ensemble.add_nodes();
    leaf.set_id(id);
    leaf.set_behavior(6);
    leaf.add_evaluations()->set_value(id == 2 ? 10 : 20);
  }
  return model;
}

TEST(Trees, TakeNumbersAndDictionaries) {
  Interface interface = row_interface(1, field("y", Field::Type::Double));
  EXPECT_EQ(to_number(run_one(*stage_of(kTreeRegressor, stump(), interface), row({1}))), 10.5);
  interface.inputs = {field("x", Field::Type::Double), field("n", Field::Type::Int64)};
  const StagePtr stage = stage_of(kTreeRegressor, stump(), interface);
  const std::vector<Value> two = {1.5, int64_t{7}};
  EXPECT_EQ(to_number(stage->run(two).at(0)), 20.5);
  const std::vector<Value> absent = {Value(), int64_t{7}};
  EXPECT_EQ(to_number(stage->run(absent).at(0)), 20.5);
  interface.inputs = {dictionary_field("x", false)};
  const StagePtr sparse = stage_of(kTreeRegressor, stump(), interface);
  EXPECT_EQ(to_number(run_one(*sparse, Dictionary{std::vector<int64_t>{0, 3}, {4, 5}})), 20.5);
  EXPECT_EQ(to_number(run_one(*sparse, Dictionary{std::vector<int64_t>{3}, {4}})), 10.5);
}

TEST(Trees, Faults) {
  const auto error = [](auto&& change,
                        Interface interface = row_interface(1, field("y", Field::Type::Double))) {
    proto::TreeModel model = stump();
    change(*model.mutable_ensemble(), model);
    try {
      stage_of(kTreeRegressor, model, interface);
    } catch (const Error& fault) {
      return std::string(fault.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(error([](auto&, auto&) {}), "none");
  EXPECT_EQ(error([](auto& trees, auto&) { trees.mutable_nodes(0)->set_true_child(3); }),
            "tree 0, node 5: its child 3 does not exist");
  EXPECT_EQ(error([](auto& trees, auto&) { trees.mutable_nodes(0)->set_true_child(9); }),
            "tree 0 has 2 nodes without a parent, it needs one root");
  EXPECT_EQ(error([](auto& trees, auto&) {
              proto::TreeNode& node = *trees.add_nodes();
              node.set_id(30);
              node.set_true_child(31);
              node.set_false_child(31);
              proto::TreeNode& other = *trees.add_nodes();
              other.set_id(31);
              other.set_true_child(30);
              other.set_false_child(30);
            }),
            "tree 0: no path leads to node 30");
  EXPECT_EQ(error([](auto& trees, auto&) {
              proto::TreeNode& node = *trees.add_nodes();
              node.set_id(30);
              node.set_true_child(30);
              node.set_false_child(9);
              trees.mutable_nodes(0)->set_false_child(30);
            }),
            "tree 0: node 30 is its own descendant");
  EXPECT_EQ(error([](auto& trees, auto&) { trees.mutable_nodes(1)->set_id(9); }),
            "tree 0 has two nodes 9");
  EXPECT_EQ(error([](auto& trees, auto&) { trees.mutable_nodes(1)->set_behavior(7); }),
            "tree 0, node 2: unknown nodeBehavior 7");
  EXPECT_EQ(error([](auto& trees, auto&) {
              trees.mutable_nodes(1)->mutable_evaluations(0)->set_index(1);
            }),
            "tree 0, node 2: a leaf is of dimension 1, there are 1");
  EXPECT_EQ(error([](auto& trees, auto&) { trees.mutable_nodes(0)->set_feature(1); }),
            "the inputs have 1 numbers, the model takes at least 2");
  EXPECT_EQ(error([](auto& trees, auto&) { trees.set_dimensions(uint64_t{1} << 40); }),
            "the trees have 1099511627776 dimensions, but only 3 values of leaves");
  EXPECT_EQ(error([](auto& trees, auto&) { trees.set_dimensions(2); }),
            "there are 1 base values for 2 dimensions");
  EXPECT_EQ(error([](auto&, auto& model) { model.set_transform(4); }),
            "unknown postEvaluationTransform 4");
  EXPECT_EQ(error([](auto&, auto& model) { model.set_transform(3); }),
            "the output 'y' is a double and cannot hold 2 numbers");
  EXPECT_EQ(error([](auto&, auto&) {}, row_interface(1, field("y", Field::Type::String))),
            "the description names no output for the prediction");
}

}  // namespace
}  // namespace pippin::tabular
