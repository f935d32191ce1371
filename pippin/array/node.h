// The node that an Array refers to. Only for the files of this folder.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/mil/program.h"

namespace pippin::array {

struct Node {
  Node();

  // Nodes are numbered as they are made: sorted by it, definitions come before uses and effects
  // stand in the order in which they were recorded.
  uint64_t sequence;
  std::string name;  // wanted in the program, made unique there
  // One of these: inputs and states have a Var only.
  std::unique_ptr<mil::Var> input;
  std::unique_ptr<mil::Operation> operation;
  std::vector<NodePtr> operands;  // keeps the producers of the operation's Vars alive
  std::vector<mil::ValueInfo> infos;

  bool is_constant() const { return operation != nullptr && operation->type() == "const"; }
  mil::Var* output(size_t index) const {
    return input != nullptr ? input.get() : operation->output(index);
  }
};

// record(), for ops without outputs too.
NodePtr record_node(std::string_view op, std::vector<Param> params);

// The type that a program declares for a value: unknown where a dimension is symbolic.
mil::ValueType declared_type(const mil::ValueInfo& info);

}  // namespace pippin::array
