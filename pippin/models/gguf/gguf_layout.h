// Adapts the description of a decoder to a GGUF's matrix layout where it differs from the
// architecture's checkpoints: no matrix is rearranged on reading.
#pragma once

#include "pippin/models/config/config.h"
#include "pippin/nn/decoder.h"
#include "pippin/nn/encoder.h"

namespace pippin::models {

// Does nothing for a configuration that gguf_config() did not make.
void use_gguf_layout(const Config& config, nn::DecoderOptions& model);
void use_gguf_layout(const Config& config, nn::EncoderOptions& model);

}  // namespace pippin::models
