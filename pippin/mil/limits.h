// What no reader of programs lets pass.
#pragma once

#include <cstddef>

namespace pippin::mil {

inline constexpr size_t kMaxRank = 32;

}  // namespace pippin::mil
