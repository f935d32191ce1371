// Inputs and outputs of the package of a text encoder, by its declaration: those of the
// family `encoder` (families/encoder.h) and others of the same form.
//
//   takes   token ids, attention mask (1 for tokens, 0 for padding) and, where it wants them, types
//           and positions of tokens, each (batch, length), of int32 or float
//   gives   embeddings (batch, n), or logits (batch, labels), or states (batch, length, n), whose
//           mean over a text's tokens is its embedding
//
// Either axis may have one size, several, or a range.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pippin/mil/model.h"
#include "pippin/runtime/axis_sizes.h"

namespace pippin::runtime {

struct EncoderSchema {
  std::string ids, mask, types, positions, pooling_mask;  // inputs; empty: absent
  std::string output;
  bool scores = false;        // logits
  bool gives_states = false;  // instead of embeddings
  AxisSizes batch, length;
};

// Of the model's default function; nothing for other programs.
std::optional<EncoderSchema> encoder_schema(const mil::Model& model);

}  // namespace pippin::runtime
