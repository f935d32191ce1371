// The modules' names of tensors, in place of those of older or other writers.
#pragma once

#include <string_view>

#include "pippin/io/checkpoint.h"

namespace pippin::models {

// Renames tensors to current names:
//   LayerNorm.gamma, .beta          weight, bias: BERT's first files
//   attention_layer_norm            input_layernorm; feedforward_layer_norm likewise: OLMo Hybrid's
//   dense_bias                      dense.bias: GPT-NeoX-Japanese's, of its last layer alone
//   language_model.model.blocks     language_model.model.layers: Kimi K2.5, as transformers 5 has it
//   encoder.embed_tokens            shared, where T5's table goes by this name alone
//   switch_mlp.gate_proj.weight     switch_mlp.N.gate_proj.weight: mlx-lm's experts, whose matrices,
//                                   scales and biases are stacked; nn/experts/expert_weights.h looks for them
//   moe.gate_proj.weight            experts.N.gate_proj.weight: Step 3.5's, likewise
//   mlp.gate, mlp.experts           block_sparse_moe.gate, .experts: Mixtral and others, as
//                                   transformers 5 holds them; by the checkpoint's model_type
Checkpoint with_current_names(const Checkpoint& checkpoint, std::string_view model_type = "");

}  // namespace pippin::models
