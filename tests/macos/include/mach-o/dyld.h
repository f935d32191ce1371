// Declared as macOS has it: what pippin/*_macos.cpp call of it.
#pragma once

#include <cstdint>

extern "C" int _NSGetExecutablePath(char* path, uint32_t* size);
