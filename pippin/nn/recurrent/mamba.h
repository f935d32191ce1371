// The selective state space of Mamba (Gu and Dao 2023): each feature has a state of `state_size`
// numbers, with decay and input at steps that depend on the token.
//
// "in_proj" gives x and z; x passes through a causal convolution and silu. "x_proj" gives the
// narrow step, keys and queries, "dt_proj" widens the step: s = exp(step * A) * s + step * x *
// keys. The result is queries · s + D * x, times silu(z), through "out_proj".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "pippin/nn/layers/mixer.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct MambaOptions {
  int64_t features = 0;
  int64_t inner = 0;       // features of x and z
  int64_t state_size = 0;  // of each of them
  int64_t step_rank = 0;
  int64_t kernel = 4;  // taps of the convolution
  bool bias = false;   // of in_proj and out_proj
  bool convolution_bias = true;
  // Of x, each of which has a selection and steps of its own features: "x_proj_weight",
  // "dt_proj_weight", "dt_proj_bias" and the others have an axis of heads in front, and the rows of
  // in_proj are those of x and z in turns (Zamba). 0: one of all, of modules.
  int64_t heads = 0;
  // Of narrow step, keys and queries; with weights they have these names.
  std::optional<NormOptions> norm;
  std::string step_norm = "dt_layernorm", key_norm = "b_layernorm", query_norm = "c_layernorm";

  MixerNeeds needs() const;
  std::unique_ptr<const Mixer> make(const Parameters& parameters) const;
};

}  // namespace pippin::nn
