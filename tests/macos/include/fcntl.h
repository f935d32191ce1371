// Declarations as in macOS: advice about files.
#pragma once

#include_next <fcntl.h>

#define F_RDADVISE 44
struct radvisory {
  off_t ra_offset;
  int ra_count;
};

extern "C" int macos_fcntl(int fd, int command, ...);
#define fcntl macos_fcntl
