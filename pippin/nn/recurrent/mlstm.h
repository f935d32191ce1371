// The matrix memory of xLSTM (Beck et al. 2024): each head keeps a matrix, a vector and the
// logarithm of their common factor; a token decays them by its forget gate and adds its value for
// its key by the exponential of its input gate.
#pragma once

#include <cstdint>
#include <memory>

#include "pippin/nn/layers/mixer.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct MLSTMOptions {
  int64_t features = 0;
  int64_t num_heads = 0;
  int64_t key_dim = 0, value_dim = 0;  // of a head
  double gate_cap = 15;                // gates become cap * tanh(gate / cap)
  double epsilon = 1e-6;               // added to the divisor of results
  NormOptions norm;                    // of each head of the result; its weights are of all heads

  MixerNeeds needs() const;
  std::unique_ptr<const Mixer> make(const Parameters& parameters) const;
};

}  // namespace pippin::nn
