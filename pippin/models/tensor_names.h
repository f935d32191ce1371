// The names that modules have, in place of those that older or other writers gave their tensors.
#pragma once

#include "pippin/io/checkpoint.h"

namespace pippin::models {

// Under current names:
//   LayerNorm.gamma, .beta          weight, bias: BERT's first files
//   encoder.embed_tokens            shared, where T5's table goes by this name alone
//   switch_mlp.gate_proj.weight     switch_mlp.N.gate_proj.weight: mlx-lm's experts, whose matrices,
//                                   scales and biases are stacked; nn/expert_weights.h looks for them
Checkpoint with_current_names(const Checkpoint& checkpoint);

}  // namespace pippin::models
