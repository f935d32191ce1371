// Operations that the value rules of the op table compute.
#pragma once

#include <vector>

#include "pippin/mil/program.h"

namespace pippin::engine {

// views: the results, then the inputs that are not constant, one for each of `vars`; all without
// gaps.
struct ReferenceNode {
  const mil::Operation* operation = nullptr;
  mil::Opset opset{};
  std::vector<const mil::Var*> vars;
};

}  // namespace pippin::engine
