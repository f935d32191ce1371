// Detects files that stand in for a model's file: pointers from a clone without Git LFS, and error
// or login pages saved by a download.
#pragma once

#include <filesystem>

#include "pippin/base/byte_span.h"

namespace pippin {

// Throws InvalidFile, with the file name, if the bytes are a Git LFS pointer.
void refuse_lfs_pointer(ByteSpan bytes, const std::filesystem::path& path);
// The same for an HTML page or another XML document.
void refuse_page(ByteSpan bytes, const std::filesystem::path& path);

}  // namespace pippin
