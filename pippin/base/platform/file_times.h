// The times of a file in nanoseconds; struct stat's field names differ between systems.
#pragma once

#include <cstdint>

struct stat;

namespace pippin {

int64_t modified_ns(const struct stat& info) noexcept;  // content
int64_t changed_ns(const struct stat& info) noexcept;   // content, name or owner

}  // namespace pippin
