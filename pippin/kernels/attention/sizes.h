// The sizes of tiles and scratch memory. No inline functions: ISA files include this.
#pragma once

#include <cstdint>

#include "pippin/kernels/attention/args.h"

namespace pippin::kernels {

constexpr int64_t kChunk = kMaskChunk;  // keys whose scores are held at once
constexpr int64_t kFewQueries = 12;     // maximum for a tile that reads the cache in place
constexpr int64_t kFewRows = 16;        // maximum that are computed as each would be alone
constexpr int64_t kManyQueries = 128;   // maximum for a tile that converts the cache
constexpr int64_t kFewPartHeader = 32;  // a largest score and a sum per query; values follow
constexpr int64_t kManyPartHeader = 2 * kManyQueries;

// A chunk of keys or values of `dims` elements as pairs of bf16 (avx512_pairs.h) takes at most
// kPairRows * (dims + kPairsApart) floats: rows are apart, or they would compete for the same
// places in the first-level cache.
constexpr int64_t kPairRows = kChunk / 2 + 16, kPairsApart = 32;

}  // namespace pippin::kernels
