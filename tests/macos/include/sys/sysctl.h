// The declarations that pippin/*_macos.cpp use, as in macOS.
#pragma once

#include <cstddef>

extern "C" int sysctlbyname(const char* name, void* old, size_t* old_size, void* other,
                            size_t other_size);
