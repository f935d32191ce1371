// Bytes in memory, as a file that libraries read through functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "pippin/base/bytes.h"

namespace pippin::sound {

struct MemoryFile {
  ByteSpan bytes;
  int64_t position = 0;

  int64_t size() const { return static_cast<int64_t>(bytes.size()); }

  // As fseek, and returns the new position, or -1 for one before the start.
  int64_t seek(int64_t offset, int whence) {
    const int64_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? position : size();
    int64_t target = 0;
    if (__builtin_add_overflow(base, offset, &target) || target < 0) return -1;
    position = target;
    return target;
  }
  // Returns the number of bytes copied.
  int64_t read(void* out, int64_t count) {
    count = std::min(count, size() - position);
    if (count <= 0) return 0;
    std::memcpy(out, bytes.data() + position, static_cast<size_t>(count));
    position += count;
    return count;
  }
};

}  // namespace pippin::sound
