// The state space of Mamba 2 (Dao and Gu 2024): heads with one decay each, in groups that share
// keys and queries.
//
// "in_proj" gives gate, x, keys, queries and the steps of the heads; x, keys and queries pass
// through one causal convolution and silu. Then s = exp(step * A) * s + step * x · keysᵀ for each
// head, and the result is s · queries + D * x, gated and normalized, through "out_proj".
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "pippin/nn/layers/mixer.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct Mamba2Options {
  int64_t features = 0;
  int64_t heads = 0, head_dim = 0;
  int64_t groups = 1;      // of heads
  int64_t state_size = 0;  // of keys and queries
  int64_t kernel = 4;      // taps of the convolution
  bool bias = false, output_bias = false;
  bool convolution_bias = true;
  double least_step = 0, largest_step = std::numeric_limits<double>::infinity();
  // The combination of the result y and the gate z.
  enum class Gating {
    GateThenNorm,  // norm(y * silu(z))
    NormThenGate,  // norm(y) * silu(z)
    GateAlone,     // y * silu(z)
  };
  Gating gating = Gating::GateThenNorm;
  NormOptions norm;          // "norm"
  bool norm_groups = false;  // the norm is over the features of each group
  // Factors of the input of in_proj, and of its outputs gate, x, keys, queries and steps.
  double input_scale = 1.0;
  std::array<double, 5> zone_scales = {1, 1, 1, 1, 1};

  int64_t inner() const { return heads * head_dim; }
  MixerNeeds needs() const;
  std::unique_ptr<const Mixer> make(const Parameters& parameters) const;
};

}  // namespace pippin::nn
