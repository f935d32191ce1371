// The largest of an output's numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pippin/cuda/kernels/choice_args.h"
#include "pippin/cuda/launchers/launch.h"

namespace pippin::cuda {

constexpr size_t kLargestBytes = 4096;  // of scratch memory

// Sets *result to the index of the first of the largest numbers, or -1 if one is NaN or none is
// finite. All are addresses of the device.
void add_largest(const float* numbers, int64_t count, std::byte* scratch, int32_t* result,
                 std::vector<Launch>& launches);

constexpr size_t kRankBytes = size_t{64} << 10;  // of scratch memory

// Writes the kMostRanked largest numbers, or all, with their indices, in order of index.
void add_rank(const float* numbers, int64_t count, std::byte* scratch, RankedNumber* result,
              std::vector<Launch>& launches);

}  // namespace pippin::cuda
