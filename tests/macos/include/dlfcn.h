// Linux's dlfcn.h, except that libraries of macOS are found (stubs.h).
#pragma once

#include_next <dlfcn.h>

extern "C" void* macos_dlopen(const char* path, int mode);
extern "C" void* macos_dlsym(void* library, const char* symbol);
#define dlopen macos_dlopen
#define dlsym macos_dlsym
