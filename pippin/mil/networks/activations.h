// Activation functions, as layers and inside recurrent layers.
#pragma once

#include "pippin/mil/networks/network.h"

namespace pippin::mil::networks {

// Applies an ActivationParams message; parameters by channel belong to axis -3.
Var* activated(Network& network, const Fields& activation, Var* x);

}  // namespace pippin::mil::networks
