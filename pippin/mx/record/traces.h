// Several recordings of one function, each with other sizes, matched node by node.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "pippin/mx/core/node.h"

namespace pippin::mx {

class Traces {
 public:
  using Roots = std::vector<Ref<Node>>;

  // `roots` of each recording, equally many in each: its inputs, then its outputs. Throws
  // Unsupported, with the operation's name, if the recordings differ in more than numbers, or in a
  // number of an operation that is written with fixed numbers. `sizes` lists the recorded sizes for
  // error messages.
  Traces(std::vector<Roots> roots, const std::string& sizes);

  // The nodes of the first recording, inputs before their users.
  const std::vector<Ref<Node>>& order() const { return order_; }
  // The node of each recording that corresponds to `node` in the first one; `node` alone if there
  // is only one recording or the node has no counterparts.
  std::vector<const Node*> all(const Node& node) const;
  // Whether it has the same numbers in each recording and depends on no input.
  bool is_fixed(const Node& node) const;
  // Computes the fixed nodes, in the first recording.
  void eval_fixed() const;

  // Throws Unsupported if another recording, with the sizes in `where`, has other operations.
  // Ignores reshapes and broadcasts, which are omitted for axes of size 1.
  void check_like(const Roots& roots, const std::string& where) const;

 private:
  struct Place {
    std::vector<Node*> nodes;
    bool is_fixed = false;
    bool depends = false;  // on an input
  };
  void visit(const std::vector<Node*>& nodes);
  void classify(Place& place) const;
  void check_same(const std::vector<Node*>& nodes) const;

  std::vector<Roots> roots_;
  std::string sizes_;
  std::vector<Ref<Node>> order_;  // owned, because a computed node releases its inputs
  std::unordered_map<const Node*, Place> places_;
};

}  // namespace pippin::mx
