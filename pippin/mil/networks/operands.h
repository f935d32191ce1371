// The inputs of a layer that computes element by element, as operands that broadcast.
#pragma once

#include "pippin/mil/networks/network.h"

namespace pippin::mil::networks {

struct Operands {
  std::vector<Var*> vars;
  bool led = false;  // of the result
};

// All inputs as fp32.
Operands real_operands(Network& network, const Layer& layer);
// All inputs as int32 if some have this type and the others are constants of whole numbers; else
// as fp32. Sizes computed from shapes stay known in this way.
Operands number_operands(Network& network, const Layer& layer);
Operands truth_operands(Network& network, const Layer& layer);

// A number to compute with values of the type; fp32 unless it is whole and the type is int32.
Binding scalar_operand(Network& network, Var*& x, float value);

}  // namespace pippin::mil::networks
