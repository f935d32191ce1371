// The declarations that pippin/*_macos.cpp use, as in macOS.
#pragma once

#include <cstdint>

extern "C" int _NSGetExecutablePath(char* path, uint32_t* size);
