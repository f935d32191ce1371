// Writes a Hugging Face folder with random weights, for measuring speed and memory at any size
// without a download: a Llama-like model, one with mixtures of experts (OLMoE, Qwen3 MoE), or Mamba
// 2. The same options, including the seed, give the same bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "pippin/io/dtype.h"

namespace pippin {

struct LlamaShape {
  int64_t vocab_size = 32000;
  int64_t hidden_size = 2048;
  int64_t intermediate_size = 5504;
  int64_t num_layers = 24;
  int64_t num_heads = 16;
  int64_t num_kv_heads = 16;
  int64_t head_dim = 0;  // 0: hidden_size / num_heads
  int64_t max_positions = 4096;
  bool tie_word_embeddings = false;
  bool attention_bias = false;  // for the q, k and v projections
  // The number of experts in every layer's feed-forward, the number that a token chooses, and their
  // width; 0: dense.
  int64_t num_experts = 0, experts_per_token = 0, expert_width = 0;
  enum class Norms { None, Heads, All };  // of q and k: no norm, one per head, one over all heads
  Norms norms = Norms::None;
  // Above 0: Mamba 2, whose layers are all state spaces. intermediate_size is their inner width,
  // over all heads, and num_kv_heads the number of groups.
  int64_t state_size = 0;
};

struct RandomCheckpointOptions {
  LlamaShape shape;
  std::string config_json;   // written unchanged; empty: made from `shape`
  Dtype dtype = Dtype::F16;  // F16, BF16 or F32
  uint64_t seed = 1;
  int shards = 1;
};

// Names: "tiny", "llama-160m", "llama-1.3b", "llama-3b", "llama-7b", "olmoe-7b", "qwen3-30b-a3b-12"
// (its first 12 layers), "mamba2-1.3b". Throws InvalidArgument, with the list, for others.
LlamaShape preset_shape(const std::string& name);
// Returns the shape of a config.json; keys with defaults in Llama's configuration may be missing.
LlamaShape shape_from_config(const std::string& config_json, const std::string& name);

// Returns the bytes of all tensors.
uint64_t checkpoint_bytes(const LlamaShape& shape, Dtype dtype);

// Writes config.json, generation_config.json, tokenizer.json, tokenizer_config.json and the
// weights, in constant memory. `folder` must not exist, or must be empty; it appears when
// everything is written.
void write_random_checkpoint(const std::filesystem::path& folder,
                             const RandomCheckpointOptions& options);

}  // namespace pippin
