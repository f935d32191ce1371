// Which bytes of which file a piece of mapped memory is: for what remembers something about them
// from one process to the next, as git's index does, without reading them again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "pippin/base/bytes.h"

namespace pippin {

struct FileOrigin {
  std::filesystem::path path;  // by which it was opened
  // The file as it was when it was mapped. Whatever changes a file's content changes its size or
  // one of its times; the second one cannot be set back.
  uint64_t device = 0, inode = 0, size = 0;
  int64_t modified_ns = 0, changed_ns = 0;  // since 1970
  uint64_t offset = 0;                      // of the bytes in the file
  // Whether the file had been left alone for some seconds: only then a later change is sure to show
  // in its times, which some file systems keep in steps of two seconds.
  bool settled = false;
  bool damaged = false;  // parts could not be read and are zeros now (mapped_guard.h)
  uint64_t mapping = 0;  // its number, counted over all mappings of the process
};

// Nothing for bytes that are not part of a MappedFile.
std::optional<FileOrigin> origin_of(ByteSpan bytes);
// The origins of all files that are mapped now.
std::vector<FileOrigin> mapped_files();
// FileOrigin::mapping of the next mapping.
uint64_t next_mapping() noexcept;

// Whether the file that lies at the origin's path now is the one that was mapped, and was written
// to since: what is mapped is no longer what it was, and may not be there to be read. One that was
// deleted or replaced is still mapped as it was.
bool was_written_to(const FileOrigin& origin) noexcept;

}  // namespace pippin
