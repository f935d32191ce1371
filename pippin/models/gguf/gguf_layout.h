// The description of a decoder changed to how a GGUF stores its matrices, where that is another way
// than the architecture's checkpoints have: no matrix is rearranged when it is read.
#pragma once

#include "pippin/models/config/config.h"
#include "pippin/nn/decoder.h"
#include "pippin/nn/encoder.h"

namespace pippin::models {

// Nothing for a configuration that gguf_config() did not make.
void use_gguf_layout(const Config& config, nn::DecoderOptions& model);
void use_gguf_layout(const Config& config, nn::EncoderOptions& model);

}  // namespace pippin::models
