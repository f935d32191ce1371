// The recurrent block of Griffin (De et al. 2024): a branch with a causal convolution and a
// real-gated linear recurrent unit (RG-LRU), times a branch with an activation.
//
// The unit keeps one number for each feature: s = a * s + sqrt(1 - a^2) * i * x, where a and i are
// gates of x, with a matrix for each head.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "pippin/nn/layers/mixer.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct RecurrentUnitOptions {
  int64_t features = 0;
  int64_t inner = 0;   // features of both branches
  int64_t heads = 0;   // of the gates
  int64_t kernel = 4;  // taps of the convolution
  Activation activation = Activation::GeluTanh;

  MixerNeeds needs() const;
  std::unique_ptr<const Mixer> make(const Parameters& parameters) const;
};

}  // namespace pippin::nn
