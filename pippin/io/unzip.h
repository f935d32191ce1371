// Unpacks a zip archive, in which compiled models are distributed (X.mlmodelc.zip), into a folder,
// or a gzip file (X.mlmodel.gz).
//
// Archives are untrusted. Before anything is written, all names are checked (no entry leaves the
// folder, is a link or a device, or occurs twice), and so are the sizes: against the limits,
// against deflate's maximum ratio, and against the free space.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "pippin/base/bytes.h"

namespace pippin {

struct UnzipLimits {
  uint64_t max_bytes = uint64_t{1} << 38;  // total of all entries
  size_t max_entries = 100'000;
};

// `name` starts error messages. `folder` must exist; after an error, the caller must remove its
// content. Skips macOS metadata (__MACOSX/, .DS_Store). Polls check_cancel(). Throws InvalidFile,
// Unsupported (encryption, other methods than deflate), LimitExceeded, Io.
void unzip(ByteSpan archive, const std::string& name, const std::filesystem::path& folder,
           const UnzipLimits& limits = {});
void unzip(const std::filesystem::path& archive, const std::filesystem::path& folder,
           const UnzipLimits& limits = {});

// Returns whether the file starts like a zip archive.
bool is_zip(ByteSpan file);

// Writes the content of a gzip file, of less than 4 GiB, to the new file `target`. Errors and
// limits as in unzip(). The file is read as the only entry of a zip archive, because both contain
// deflated data, its CRC and its size.
void gunzip(ByteSpan file, const std::string& name, const std::filesystem::path& target,
            const UnzipLimits& limits = {});

}  // namespace pippin
