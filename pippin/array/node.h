// The node that an Array refers to. Internal to this folder.
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

  // Nodes are numbered in order of creation. In this order, definitions precede uses, and effects
  // keep their recording order.
  uint64_t sequence;
  std::string name;  // desired name, made unique in the program
  // Exactly one of these is set: inputs and states have only a Var.
  std::unique_ptr<mil::Var> input;
  std::unique_ptr<mil::Operation> operation;
  std::vector<NodePtr> operands;  // keep the producers of the operation's Vars alive
  std::vector<mil::ValueInfo> infos;

  bool is_constant() const { return operation != nullptr && operation->type() == "const"; }
  mil::Var* output(size_t index) const {
    return input != nullptr ? input.get() : operation->output(index);
  }
};

// Like record(), also for ops without outputs.
NodePtr record_node(std::string_view op, std::vector<Param> params);

// Returns the type that a program declares for a value; symbolic dimensions are unknown.
mil::ValueType declared_type(const mil::ValueInfo& info);

}  // namespace pippin::array
