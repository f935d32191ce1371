// Recurrent layers step by step, for activation functions that MIL's recurrent ops do not support.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pippin/mil/networks/network.h"

namespace pippin::mil::networks {

// The name of an activation in MIL's recurrent ops; empty if their definition differs. Inside
// recurrent layers, absent parameters have Keras' defaults.
std::string recurrent_activation_name(const Fields& activation);

// The activation of a sum that is first clamped to [-50, 50].
Var* recurrent_activation(Network& network, const Fields& activation, Var* sum);

struct Run {
  Var* x;                    // [sequence, batch, inputs]
  std::vector<Var*> states;  // [batch, outputs] each; the first is the output
  bool reverse = false, sequence = false;
};
using Step = std::function<std::vector<Var*>(Var* x, const std::vector<Var*>& states)>;

// Returns the outputs, [sequence or 1, batch, outputs] in the order of processing, and the last
// states.
std::vector<Var*> run_steps(Network& network, const Run& run, const Step& step);

}  // namespace pippin::mil::networks
