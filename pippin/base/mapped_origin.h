// Which bytes of which file a piece of mapped memory is: for what remembers something about them
// from one process to the next, as git's index does, without reading them again.
#pragma once

#include <cstdint>
#include <optional>

#include "pippin/base/bytes.h"

namespace pippin {

struct FileOrigin {
  // The file as it was when it was mapped. Whatever changes a file's content changes its size or
  // one of its times; the second one cannot be set back.
  uint64_t device = 0, inode = 0, size = 0;
  int64_t modified_ns = 0, changed_ns = 0;  // since 1970
  uint64_t offset = 0;                      // of the bytes in the file
  // Whether the file had been left alone for some seconds: only then a later change is sure to show
  // in its times, which some file systems keep in steps of two seconds.
  bool settled = false;
};

// Nothing for bytes that are not part of a MappedFile.
std::optional<FileOrigin> origin_of(ByteSpan bytes);

}  // namespace pippin
