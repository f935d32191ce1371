// Declared as macOS has it: what pippin/*_macos.cpp call of it.
#pragma once

#include <cstddef>

extern "C" int sysctlbyname(const char* name, void* old, size_t* old_size, void* other,
                            size_t other_size);
