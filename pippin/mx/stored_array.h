// A tensor of a mapped file as an array.
#pragma once

#include <memory>
#include <string>

#include "pippin/io/safetensors.h"
#include "pippin/mx/array.h"

namespace pippin::mx {

// Not copied where it lies as its type has to; `owner` holds its memory, `file` begins errors.
array stored_array(const TensorInfo& tensor, const std::shared_ptr<const void>& owner,
                   const std::string& file);

}  // namespace pippin::mx
