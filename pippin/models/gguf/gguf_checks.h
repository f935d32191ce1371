// Metadata of a GGUF compared with its tensors.
#pragma once

#include "pippin/models/gguf/gguf_config.h"

namespace pippin::models {

// Throws InvalidFile, naming file, key, both numbers and the tensor, where a size or a count is not
// that of the tensors. `varies`: layers may differ.
void check_gguf_tensors(const GgufConfig& config, bool varies);

}  // namespace pippin::models
