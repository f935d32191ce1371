#include "pippin/tabular/forest.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "pippin/base/error.h"
#include "pippin/tabular/feature_row.h"

namespace pippin::tabular {

// Numbers the nodes by their place in the file, and finds children by tree and number.
class ForestReader {
 public:
  ForestReader(const proto::TreeEnsemble& message, Forest& forest)
      : message_(message), forest_(forest) {}

  void read() {
    read_base();
    sort();
    forest_.nodes_.reserve(static_cast<size_t>(message_.nodes_size()));
    for (const proto::TreeNode& node : message_.nodes()) {
      with_context(fmt::format("tree {}, node {}", node.tree(), node.id()),
                   [&] { forest_.nodes_.push_back(read_node(node)); });
    }
    find_roots();
    check_reach();
  }

 private:
  using Behavior = Forest::Behavior;

  void read_base() {
    const uint64_t dimensions = message_.dimensions();
    uint64_t named = static_cast<uint64_t>(message_.base_size());
    for (const proto::TreeNode& node : message_.nodes()) {
      named += static_cast<uint64_t>(node.evaluations_size());
    }
    if (dimensions == 0) fail(ErrorCode::InvalidFile, "the trees have 0 dimensions");
    if (dimensions > named && dimensions > 1) {
      fail(ErrorCode::InvalidFile, "the trees have {} dimensions, but only {} values of leaves",
           dimensions, named);
    }
    if (message_.base_size() != 0 && static_cast<uint64_t>(message_.base_size()) != dimensions) {
      fail(ErrorCode::InvalidFile, "there are {} base values for {} dimensions",
           message_.base_size(), dimensions);
    }
    forest_.base_.assign(message_.base().begin(), message_.base().end());
    forest_.base_.resize(static_cast<size_t>(dimensions), 0.0);
  }

  const proto::TreeNode& at(uint32_t place) const {
    return message_.nodes(static_cast<int>(place));
  }

  bool before(uint32_t place, uint64_t tree, uint64_t id) const {
    const proto::TreeNode& node = at(place);
    return node.tree() != tree ? node.tree() < tree : node.id() < id;
  }

  void sort() {
    sorted_.resize(static_cast<size_t>(message_.nodes_size()));
    std::iota(sorted_.begin(), sorted_.end(), uint32_t{0});
    std::sort(sorted_.begin(), sorted_.end(),
              [&](uint32_t a, uint32_t b) { return before(a, at(b).tree(), at(b).id()); });
    for (size_t i = 1; i < sorted_.size(); ++i) {
      const proto::TreeNode &a = at(sorted_[i - 1]), &b = at(sorted_[i]);
      if (a.tree() == b.tree() && a.id() == b.id()) {
        fail(ErrorCode::InvalidFile, "tree {} has two nodes {}", a.tree(), a.id());
      }
    }
  }

  uint32_t find(uint64_t tree, uint64_t id) const {
    const auto found = std::lower_bound(
        sorted_.begin(), sorted_.end(), id,
        [&](uint32_t place, uint64_t wanted) { return before(place, tree, wanted); });
    if (found == sorted_.end() || at(*found).tree() != tree || at(*found).id() != id) {
      fail(ErrorCode::InvalidFile, "its child {} does not exist", id);
    }
    return *found;
  }

  Forest::Node read_node(const proto::TreeNode& message) {
    if (message.behavior() < 0 || message.behavior() > static_cast<int>(Behavior::Leaf)) {
      fail(ErrorCode::InvalidFile, "unknown nodeBehavior {}", message.behavior());
    }
    Forest::Node node;
    node.behavior = static_cast<Behavior>(message.behavior());
    if (node.behavior == Behavior::Leaf) {
      node.on_true = static_cast<uint32_t>(forest_.evaluations_.size());
      read_leaf(message);
      node.on_false = static_cast<uint32_t>(forest_.evaluations_.size());
      return node;
    }
    if (message.feature() >= static_cast<uint64_t>(kMaxRowSize)) {
      fail(ErrorCode::InvalidFile, "feature {}, at most {} are possible", message.feature(),
           kMaxRowSize);
    }
    node.value = message.value();
    node.feature = static_cast<uint32_t>(message.feature());
    node.missing_is_true = message.missing_is_true();
    node.on_true = find(message.tree(), message.true_child());
    node.on_false = find(message.tree(), message.false_child());
    forest_.num_features_ =
        std::max(forest_.num_features_, static_cast<size_t>(message.feature()) + 1);
    return node;
  }

  void read_leaf(const proto::TreeNode& message) {
    for (const proto::Evaluation& evaluation : message.evaluations()) {
      if (evaluation.index() >= forest_.base_.size()) {
        fail(ErrorCode::InvalidFile, "a leaf is of dimension {}, there are {}", evaluation.index(),
             forest_.base_.size());
      }
      forest_.evaluations_.push_back(
          {static_cast<uint32_t>(evaluation.index()), evaluation.value()});
    }
  }

  void find_roots() {
    std::vector<bool> has_parent(forest_.nodes_.size(), false);
    for (const Forest::Node& node : forest_.nodes_) {
      if (node.behavior == Behavior::Leaf) continue;
      has_parent[node.on_true] = has_parent[node.on_false] = true;
    }
    for (size_t i = 0; i < sorted_.size();) {
      const uint64_t tree = at(sorted_[i]).tree();
      size_t roots = 0;
      for (; i < sorted_.size() && at(sorted_[i]).tree() == tree; ++i) {
        if (has_parent[sorted_[i]]) continue;
        if (++roots == 1) forest_.roots_.push_back(sorted_[i]);
      }
      if (roots != 1) {
        fail(ErrorCode::InvalidFile, "tree {} has {} nodes without a parent, it needs one root",
             tree, roots);
      }
    }
  }

  // Visits every node once from the roots; a node that occurs twice on a path closes a cycle.
  void check_reach() const {
    enum class Mark : uint8_t { Unseen, OnPath, Done };
    std::vector<Mark> marks(forest_.nodes_.size(), Mark::Unseen);
    std::vector<uint32_t> path;
    const auto enter = [&](uint32_t place) {
      if (marks[place] == Mark::OnPath) {
        fail(ErrorCode::InvalidFile, "tree {}: node {} is its own descendant", at(place).tree(),
             at(place).id());
      }
      if (marks[place] == Mark::Unseen) path.push_back(place);
    };
    for (const uint32_t root : forest_.roots_) {
      path.push_back(root);
      while (!path.empty()) {
        const uint32_t place = path.back();
        const Forest::Node& node = forest_.nodes_[place];
        if (marks[place] != Mark::Unseen || node.behavior == Behavior::Leaf) {
          marks[place] = Mark::Done;
          path.pop_back();
          continue;
        }
        marks[place] = Mark::OnPath;
        enter(node.on_true);
        enter(node.on_false);
      }
    }
    const auto unseen = std::find(marks.begin(), marks.end(), Mark::Unseen);
    if (unseen == marks.end()) return;
    const proto::TreeNode& node = at(static_cast<uint32_t>(unseen - marks.begin()));
    fail(ErrorCode::InvalidFile, "tree {}: no path leads to node {}", node.tree(), node.id());
  }

  const proto::TreeEnsemble& message_;
  Forest& forest_;
  std::vector<uint32_t> sorted_;  // places of nodes by tree and number
};

Forest::Forest(const proto::TreeEnsemble& message) {
  ForestReader(message, *this).read();
}

bool Forest::is_true(const Node& node, double x) {
  if (std::isnan(x)) return node.missing_is_true;
  switch (node.behavior) {
    case Behavior::LessEqual:
      return x <= node.value;
    case Behavior::Less:
      return x < node.value;
    case Behavior::GreaterEqual:
      return x >= node.value;
    case Behavior::Greater:
      return x > node.value;
    case Behavior::Equal:
      return x == node.value;
    case Behavior::NotEqual:
      return x != node.value;
    case Behavior::Leaf:
      break;
  }
  return false;
}

std::vector<double> Forest::sums(const std::vector<double>& row) const {
  std::vector<double> result = base_;
  for (const uint32_t root : roots_) {
    const Node* node = &nodes_[root];
    while (node->behavior != Behavior::Leaf) {
      node = &nodes_[is_true(*node, row[node->feature]) ? node->on_true : node->on_false];
    }
    for (uint32_t i = node->on_true; i < node->on_false; ++i) {
      result[evaluations_[i].dimension] += evaluations_[i].value;
    }
  }
  return result;
}

}  // namespace pippin::tabular
