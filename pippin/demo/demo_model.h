// The demo model, embedded in the binary: a small model in Hugging Face's layout, so that Pippin
// can run a model without a network.
#pragma once

#include <span>
#include <string_view>

#include "pippin/base/bytes.h"

namespace pippin {

struct EmbeddedFile {
  std::string_view name;
  ByteSpan bytes;
};

std::span<const EmbeddedFile> demo_model();

}  // namespace pippin
