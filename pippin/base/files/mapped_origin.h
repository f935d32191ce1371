// The file and offset of mapped memory, for caches that keep information about bytes between
// processes without reading them again, as git's index does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "pippin/base/bytes.h"

namespace pippin {

struct FileOrigin {
  std::filesystem::path path;  // as it was opened
  // The state of the file when it was mapped. Any change of a file's content changes its size or
  // one of its times; changed_ns cannot be set back.
  // one of its times; the second one cannot be set back.
  uint64_t device = 0, inode = 0, size = 0;
  int64_t modified_ns = 0, changed_ns = 0;  // since 1970
  uint64_t offset = 0;                      // of the bytes in the file
  // Whether the file had not changed for some seconds before. Only then a later change certainly
  // changes its times, which some file systems store in steps of two seconds.
  bool settled = false;
  bool damaged = false;  // unreadable parts were replaced with zeros (mapped_guard.h)
  uint64_t mapping = 0;  // number of the mapping within the process
};

// Returns nothing if the bytes are not part of a MappedFile.
std::optional<FileOrigin> origin_of(ByteSpan bytes);
// Returns the origins of all currently mapped files.
std::vector<FileOrigin> mapped_files();
// Returns FileOrigin::mapping of the next mapping.
uint64_t next_mapping() noexcept;

// Returns whether the file at the origin's path is still the mapped one, and was written to since:
// the mapped content may have changed, or may be unreadable. The content of a deleted or replaced
// file stays mapped unchanged.
bool was_written_to(const FileOrigin& origin) noexcept;

}  // namespace pippin
