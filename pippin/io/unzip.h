// Unpacks a zip archive into a folder, the form in which compiled models are passed around
// (X.mlmodelc.zip), or a gzip file (X.mlmodel.gz).
//
// Archives come from strangers. Before anything is written every name is checked (no entry leaves
// the folder, none is a link or a device, none comes twice) and so are the sizes: against the
// limits, against what deflate can expand to, and against the space that is left.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "pippin/base/bytes.h"

namespace pippin {

struct UnzipLimits {
  uint64_t max_bytes = uint64_t{1} << 38;  // of all entries together
  size_t max_entries = 100'000;
};

// `name` starts every error message. `folder` must exist; what an error leaves in it is the
// caller's to remove. What macOS adds (__MACOSX/, .DS_Store) is left out. Polls check_cancel().
// Throws InvalidFile, Unsupported (encryption, other methods than deflate), LimitExceeded, Io.
void unzip(ByteSpan archive, const std::string& name, const std::filesystem::path& folder,
           const UnzipLimits& limits = {});
void unzip(const std::filesystem::path& archive, const std::filesystem::path& folder,
           const UnzipLimits& limits = {});

// Whether these are the first bytes of a zip archive.
bool is_zip(ByteSpan file);

// Writes the content of a gzip file, of less than 4 GiB, to `target`, which is new. Otherwise as
// unzip(). The file is read as the one entry of a zip archive, which holds the same: deflate, its
// CRC and its size.
void gunzip(ByteSpan file, const std::string& name, const std::filesystem::path& target,
            const UnzipLimits& limits = {});

}  // namespace pippin
