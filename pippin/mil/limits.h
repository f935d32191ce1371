// Limits enforced by all readers of programs and all shape rules.
#pragma once

#include <cstdint>

namespace pippin::mil {

inline constexpr int64_t kMaxRank = 32;

}  // namespace pippin::mil
