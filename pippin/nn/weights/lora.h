// LoRA adapters: matrices of a model become W + scale * B A with two narrow ones (Hu et al., "LoRA:
// Low-Rank Adaptation of Large Language Models", 2021). PEFT's form:
//
// The folder holds adapter_config.json and adapter_model.safetensors (or .bin). Per matrix there
// are lora_A (rank, in) and lora_B (out, rank), for a table of embeddings lora_embedding_A (rank,
// rows) and lora_embedding_B (features, rank). A tensor with neither name (trained biases,
// modules_to_save) replaces the model's own. mlx-lm's adapters are read as well (mlx_adapter.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/io/checkpoint.h"
#include "pippin/mil/data_type.h"
#include "pippin/mil/value.h"

namespace pippin::nn {

// The change of one matrix: names of its two tensors in the adapter's files.
struct LowRank {
  std::string a, b;
  int64_t rank = 0;
  double scale = 1.0;
  bool embedding = false;
};

class LoraAdapter {
 public:
  // Throws NotFound (no adapter there), Unsupported (another kind of adapter, or an unknown setting
  // that changes the result, by name), InvalidFile.
  static std::shared_ptr<const LoraAdapter> open(const std::filesystem::path& folder);

  const std::filesystem::path& path() const { return path_; }
  const std::shared_ptr<const Checkpoint>& checkpoint() const { return checkpoint_; }
  // The change of a module's matrix ("model.layers.0.self_attn.q_proj"), and the adapter's name of
  // a tensor that it replaces; nullptr if none. A module's path may lack the adapter's prefix: a
  // checkpoint of the bare model.
  const LowRank* change_of(std::string_view module) const;
  const std::string* replacement_of(std::string_view tensor) const;

 private:
  std::filesystem::path path_;
  std::shared_ptr<const Checkpoint> checkpoint_;
  std::map<std::string, LowRank, std::less<>> changes_;           // by module
  std::map<std::string, std::string, std::less<>> replacements_;  // by tensor
};

// Throws InvalidFile, naming both shapes, if the change does not fit a matrix (rows, columns).
void check_change(const LoraAdapter& adapter, const LowRank& change, int64_t rows, int64_t columns);

// The matrix (rows, columns) of `base`, fp32, plus the change, as elements of `type` (fp16 or
// fp32). Throws like check_change.
std::shared_ptr<const mil::TensorSource> fused_source(std::shared_ptr<const mil::TensorSource> base,
                                                      std::shared_ptr<const LoraAdapter> adapter,
                                                      const LowRank& change, std::string_view name,
                                                      int64_t rows, int64_t columns,
                                                      mil::DataType type);

}  // namespace pippin::nn
