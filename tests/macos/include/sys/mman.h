// Declarations as in macOS: advice with another meaning on Linux.
#pragma once

#include <cstddef>

#include_next <sys/mman.h>

#undef MADV_ZERO
#undef MADV_FREE
#define MADV_FREE 5
#define MADV_ZERO 11

extern "C" int macos_madvise(void* data, size_t bytes, int advice);
#define madvise macos_madvise
