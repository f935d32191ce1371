// What no reader of programs and no shape rule lets pass.
#pragma once

#include <cstdint>

namespace pippin::mil {

inline constexpr int64_t kMaxRank = 32;

}  // namespace pippin::mil
