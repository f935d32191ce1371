// Consistency checks of a GGUF's metadata and tensors.
#pragma once

#include "pippin/models/gguf/gguf_config.h"

namespace pippin::models {

// Throws InvalidFile, with the file, the key, both numbers and the tensor, if a size or a count
// differs from the tensors'. `varies`: layers may differ.
void check_gguf_tensors(const GgufConfig& config, bool varies);

}  // namespace pippin::models
