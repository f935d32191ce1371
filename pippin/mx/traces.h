// One function recorded several times, with other sizes each time: what is the same node in each.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "pippin/mx/node.h"

namespace pippin::mx {

class Traces {
 public:
  using Roots = std::vector<Ref<Node>>;

  // `roots` of each recording, as many in each: its inputs, then what it gives. Throws Unsupported
  // where the recordings differ in more than numbers, or in a number of an operation that is
  // written with fixed ones; with the operation's name. `sizes` says for errors which sizes were
  // recorded.
  Traces(std::vector<Roots> roots, const std::string& sizes);

  // What the first recording needs, inputs before those that use them.
  const std::vector<Ref<Node>>& order() const { return order_; }
  // The node of each recording that stands where `node` stands in the first one; `node` alone where
  // there is one recording, or for a node that has other places in none.
  std::vector<const Node*> all(const Node& node) const;
  // Whether it is the same number for number in each recording, and of no input.
  bool is_fixed(const Node& node) const;
  // Computes what is fixed, in the first recording.
  void eval_fixed() const;

  // Throws Unsupported if another recording, with sizes that `where` says, does something else.
  // Reshaping and repeating aside, which axes of size 1 do without.
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
  std::vector<Ref<Node>> order_;  // owned: what is computed lets its inputs go
  std::unordered_map<const Node*, Place> places_;
};

}  // namespace pippin::mx
