// The sizes that scratch memory is laid out by. No inline functions: ISA files include this.
#pragma once

#include <cstdint>

namespace pippin::kernels {

constexpr int64_t kKeyBlock = 256;    // keys whose scores are held at once
constexpr int64_t kTileQueries = 24;  // (row, head) pairs that share one pass over keys
constexpr int64_t kScratchPadding = 16;

}  // namespace pippin::kernels
