// The arguments of choice.cuh.
#pragma once

#include <cstdint>

namespace pippin::cuda {

// The largest of some numbers, the first of equals.
struct LargestPart {
  float value;
  int32_t index;   // -1: there is none
  uint32_t flags;  // kHasNan, kHasFinite
};
constexpr uint32_t kHasNan = 1, kHasFinite = 2;

// Block b finds the largest of numbers [b * part, (b + 1) * part).
struct LargestPartsArgs {
  const float* x;
  LargestPart* parts;
  int64_t count, part;
};

// One block: the index of the largest, or -1 if one of the numbers is NaN or none is finite.
struct LargestArgs {
  const LargestPart* parts;
  int32_t* result;
  int64_t count;
};

// A number and its index.
struct RankedNumber {
  float value;
  int32_t index;
};
constexpr int kMostRanked = 128;

// Block b finds the kMostRanked largest of elements [b * part, (b + 1) * part), or all, and writes
// them in their order from to[b * kMostRanked] on; of equals the first. NaN counts as the largest.
struct RankArgs {
  const float* x;            // or null: of
  const RankedNumber* from;  // these
  RankedNumber* to;
  int64_t count, part;
};

}  // namespace pippin::cuda
