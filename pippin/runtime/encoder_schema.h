// Finds the inputs and outputs of a text encoder's package by their declaration: packages of the
// family `encoder` (families/encoder.h) and others of the same form.
//
//   inputs   token ids, attention mask (1 for tokens, 0 for padding) and, if the model has them,
//            token types and positions, each (batch, length), of int32 or float
//   output   embeddings (batch, n), or a vector for each token, token_embeddings (batch, length, n),
//            or logits (batch, labels), or states (batch, length, n), whose mean over a text's
//            tokens is its embedding
//
// Each axis may have one size, several sizes or a range.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pippin/mil/model.h"
#include "pippin/runtime/axis_sizes.h"

namespace pippin::runtime {

struct EncoderSchema {
  std::string ids, mask, types, task_types, positions, pooling_mask;  // inputs; empty: absent
  std::string output;
  bool scores = false;        // logits
  bool gives_states = false;  // not embeddings
  bool of_tokens = false;     // a vector for each token
  AxisSizes batch, length;
};

// The schema of the model's default function; empty for other programs.
std::optional<EncoderSchema> encoder_schema(const mil::Model& model);

}  // namespace pippin::runtime
