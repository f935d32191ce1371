// The storage of an array's elements, as engine::Storage.
#pragma once

#include <cstdint>

namespace pippin::cuda {

enum class Element : uint8_t { F32, F16, BF16, I32, Bool };

}  // namespace pippin::cuda
