// Reads mlx-lm's adapters as PEFT's: adapters.safetensors with lora_a (in, rank) and lora_b (rank,
// out) for each matrix, with DoRA also m (out), and one scale for all in adapter_config.json's
// lora_parameters. With fine_tune_type "full" the tensors replace the model's.
#pragma once

#include <cstddef>
#include <vector>

#include "pippin/io/checkpoint.h"
#include "pippin/io/json.h"

namespace pippin::nn {

// Whether adapter_config.json is mlx-lm's.
bool is_mlx_adapter(const Json& config);
// The factor of every change. Throws Unsupported for an unknown kind or setting.
double mlx_adapter_scale(const Json& config);
// The tensors with PEFT's names and shapes.
Checkpoint as_peft_adapter(const Checkpoint& checkpoint);
// The bytes of a transposed matrix. Throws Unsupported for other tensors.
std::vector<std::byte> transposed_bytes(const TensorInfo& tensor);

}  // namespace pippin::nn
