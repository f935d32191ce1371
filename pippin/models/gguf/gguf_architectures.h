// The architectures that GGUF files may have, one row each: what llama.cpp's converter calls it,
// the model_type of config.json that it becomes, and the members that its metadata gives beyond
// those of all decoders (gguf_config.cpp). What tensors are called follows from the model's
// description (gguf_names.h).
#pragma once

#include <string_view>
#include <vector>

#include "pippin/models/gguf/gguf_config.h"

namespace pippin::models {

struct GgufField {
  std::string_view member;  // of config.json
  // Its source: a metadata key without the architecture's name before it; "has:NAME", whether a
  // block has a tensor of that name; "rows:NAME", the rows of its matrix; "leading:NAME", how many
  // of the first layers lack it.
  std::string_view source;
};

struct GgufArchitecture {
  std::string_view name, model_type, class_name;
  std::vector<GgufField> fields = {};
  std::string_view members = "{}";  // what the name alone says, a JSON object
  // Further members; after all others.
  void (*write)(GgufConfig& config) = nullptr;
  // The row counts where this source gives something other than 0 or false; rows with a condition
  // stand before the one without.
  std::string_view when = {};
  // The converter puts the rows of queries and keys into neighbouring pairs.
  bool pairs = false;
  // Layers may have different numbers of heads and widths, which `write` turns into kinds.
  bool varies = false;
  // It is an encoder: queries see all of a text.
  bool encodes = false;
};

// By family: a function for each file.
std::vector<GgufArchitecture> gguf_dense_architectures();
std::vector<GgufArchitecture> gguf_gemma_architectures();
std::vector<GgufArchitecture> gguf_older_architectures();
std::vector<GgufArchitecture> gguf_expert_architectures();
std::vector<GgufArchitecture> gguf_latent_architectures();
std::vector<GgufArchitecture> gguf_state_architectures();

// All of them.
const std::vector<GgufArchitecture>& gguf_decoders();

}  // namespace pippin::models
