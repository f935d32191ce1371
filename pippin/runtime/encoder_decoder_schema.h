// The interface of an encoder–decoder program (families/encoder_decoder.h), found by the names,
// types and ranges that it declares.
#pragma once

#include <cstdint>
#include <optional>

#include "pippin/mil/model.h"
#include "pippin/runtime/source.h"

namespace pippin::runtime {

struct EncoderDecoderSchema {
  int64_t most_source = 0;           // tokens of a source, or states of a recording
  int64_t most_target = 0;           // tokens of a target
  std::optional<SourceForm> source;  // of a recording; none: sources are tokens
  bool masks_source = true;          // sources have several lengths
  int32_t start = 0;                 // the token that the decoder begins with
  int32_t first = -1;                // the first token that is written, below 0: any
};

// Whether the program is an encoder–decoder.
bool is_encoder_decoder(const mil::Model& model);
// Throws Unsupported for other programs, InvalidFile for sizes that contradict each other.
EncoderDecoderSchema encoder_decoder_schema(const mil::Model& model);

}  // namespace pippin::runtime
