// When a file was written, in nanoseconds, whose place in struct stat has other names elsewhere.
#pragma once

#include <cstdint>

struct stat;

namespace pippin {

int64_t modified_ns(const struct stat& info) noexcept;  // its content
int64_t changed_ns(const struct stat& info) noexcept;   // that, its name or its owner

}  // namespace pippin
