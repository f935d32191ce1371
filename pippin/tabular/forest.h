// Decision trees as flat arrays.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/tabular/readers.h"

namespace pippin::tabular {

// The sums of the leaves that a row reaches in every tree.
class Forest {
 public:
  // Throws InvalidFile for an invalid tree (missing children, several roots, cycles, unreachable
  // nodes), for unknown behaviors, and for positions above the number of dimensions.
  explicit Forest(const proto::TreeEnsemble& message);

  size_t dimensions() const { return base_.size(); }
  size_t num_trees() const { return roots_.size(); }
  size_t num_nodes() const { return nodes_.size(); }
  // Features that a row must have: one more than the largest index of a branch.
  size_t num_features() const { return num_features_; }

  // `row` has at least num_features() numbers; NaN is a missing value.
  std::vector<double> sums(const std::vector<double>& row) const;

 private:
  friend class ForestReader;
  enum class Behavior : uint8_t { LessEqual, Less, GreaterEqual, Greater, Equal, NotEqual, Leaf };

  struct Node {
    double value = 0;
    uint32_t feature = 0;
    // The nodes of the two branches; of a leaf, the range of its evaluations.
    uint32_t on_true = 0, on_false = 0;
    Behavior behavior = Behavior::Leaf;
    bool missing_is_true = false;
  };
  struct Evaluation {
    uint32_t dimension;
    double value;
  };

  static bool is_true(const Node& node, double x);

  std::vector<Node> nodes_;
  std::vector<Evaluation> evaluations_;
  std::vector<uint32_t> roots_;
  std::vector<double> base_;
  size_t num_features_ = 0;
};

}  // namespace pippin::tabular
