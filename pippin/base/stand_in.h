// Files that stand in the place of others: what a clone without Git LFS, or a download that was
// answered with a page, leaves where a model's file should be.
#pragma once

#include <filesystem>

#include "pippin/base/byte_span.h"

namespace pippin {

// Throws InvalidFile, with the name of the file, for the bytes of a Git LFS pointer.
void refuse_lfs_pointer(ByteSpan bytes, const std::filesystem::path& path);
// The same for an HTML page or another XML document.
void refuse_page(ByteSpan bytes, const std::filesystem::path& path);

}  // namespace pippin
