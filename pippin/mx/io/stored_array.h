// A tensor in a mapped file as an array.
#pragma once

#include <memory>
#include <string>

#include "pippin/io/safetensors.h"
#include "pippin/mx/core/array.h"

namespace pippin::mx {

// Not copied if its type is aligned and unchanged; `owner` owns its memory, `file` starts error
// messages.
array stored_array(const TensorInfo& tensor, const std::shared_ptr<const void>& owner,
                   const std::string& file);

}  // namespace pippin::mx
