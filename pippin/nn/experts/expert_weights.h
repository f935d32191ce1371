// The stacked matrices of all experts of a layer: from any layout in the checkpoint to gate, if
// present, and up (experts, hidden, features) and down (experts, features, hidden), with biases
// (experts, 1, out) if present.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pippin/array/array.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct ExpertWeightsOptions {
  enum class Layout {
    Modules,      // a module each: "N.gate_proj.weight" (hidden, features) ...
    Stacked,      // (experts, 2 hidden, features), gate before up; (experts, features, hidden)
    Transposed,   // (experts, features, 2 hidden), gate before up; (experts, hidden, features)
    Interleaved,  // the same with columns of gate and up in turns
    Apart,        // gate and up (experts, hidden, features), down (experts, features, hidden)
    Rows,         // gate, up, down (experts * hidden, features): down is transposed
  };
  Layout layout = Layout::Modules;
  int64_t num_experts = 0;
  int64_t features = 0, hidden_features = 0;
  // Names below the experts' path, of modules for Modules, otherwise of tensors. `gate` is the name
  // of both if they are one tensor.
  std::string gate = "gate_proj", up = "up_proj", down = "down_proj";
  bool gated = true;  // false: no gate; Modules, or "up" and "down" stacked separately
  // Interleaved: tensors of those names with "_bias" (experts, out); Modules: "bias" of each.
  bool bias = false;
  // Interleaved: the tensors are OpenAI's MXFP4, `gate` and `down` with "_blocks" and "_scales".
  bool mxfp4 = false;
};

struct ExpertWeights {
  std::optional<array::Array> gate;
  array::Array up, down;
  std::optional<array::Array> gate_bias, up_bias, down_bias;
};

// mlx-lm's experts ("switch_mlp.N.gate_proj.weight", which models/config/tensor_names.h makes from
// its stacks) and experts joined in two tensors ("gate_up_proj" and "down_proj", as Stacked or
// Transposed, recognized by shape) are read as such, whatever the layout option.
ExpertWeights expert_weights(const Parameters& parameters, const ExpertWeightsOptions& options);

}  // namespace pippin::nn
