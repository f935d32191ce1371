// The architectures that GGUF files may have, one row each: llama.cpp's name, the model_type for
// config.json, and the members from its metadata in addition to those of all decoders
// (gguf_config.cpp). The names of tensors follow from the model's description (gguf_names.h).
#pragma once

#include <string_view>
#include <vector>

#include "pippin/models/gguf/gguf_config.h"

namespace pippin::models {

struct GgufField {
  std::string_view member;  // of config.json
  // Its source: a metadata key without the architecture's name before it; "has:NAME", whether a
  // block has a tensor of that name; "rows:NAME", the rows of its matrix; "leading:NAME", the
  // number of first layers without it.
  std::string_view source;
};

// In many architectures, whether projections of attention have biases shows in the tensors alone.
inline constexpr GgufField kGgufAttentionBias = {"attention_bias", "has:attn_q.bias"};

struct GgufArchitecture {
  std::string_view name, model_type, class_name;
  std::vector<GgufField> fields = {};
  std::string_view members = "{}";  // members that follow from the name alone, a JSON object
  // Further members; after all others.
  void (*write)(GgufConfig& config) = nullptr;
  // The row applies if this source is neither 0 nor false; rows with a condition come before the
  // one without.
  std::string_view when = {};
  // The converter reorders the rows of queries and keys into neighbouring pairs.
  bool pairs = false;
  // Layers may differ in numbers of heads and widths, which `write` converts to layer kinds.
  bool varies = false;
  // It is an encoder: attention is bidirectional.
  bool encodes = false;
};

// One function for each family and file.
std::vector<GgufArchitecture> gguf_dense_architectures();
std::vector<GgufArchitecture> gguf_gemma_architectures();
std::vector<GgufArchitecture> gguf_older_architectures();
std::vector<GgufArchitecture> gguf_expert_architectures();
std::vector<GgufArchitecture> gguf_latent_architectures();
std::vector<GgufArchitecture> gguf_state_architectures();

// All architectures.
const std::vector<GgufArchitecture>& gguf_decoders();

}  // namespace pippin::models
