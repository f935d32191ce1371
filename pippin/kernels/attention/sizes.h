// The sizes that tiles and scratch memory are laid out by. No inline functions: ISA files include
// this.
#pragma once

#include <cstdint>

namespace pippin::kernels {

constexpr int64_t kChunk = 256;         // keys whose scores are held at once
constexpr int64_t kFewQueries = 12;     // of a tile that reads the cache as it lies, at most
constexpr int64_t kFewRows = 16;        // that are computed as each is by itself
constexpr int64_t kManyQueries = 128;   // of a tile that converts a chunk of the cache first
constexpr int64_t kFewPartHeader = 32;  // a largest score and a sum per query; values follow
constexpr int64_t kManyPartHeader = 2 * kManyQueries;

}  // namespace pippin::kernels
