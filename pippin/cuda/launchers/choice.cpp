#include "pippin/cuda/launchers/choice.h"

#include <algorithm>

#include "pippin/base/numbers/checked.h"

namespace pippin::cuda {
namespace {

constexpr unsigned kChoiceThreads = 256;
constexpr int64_t kLeastPart = 2048;
constexpr int64_t kMostParts = kLargestBytes / sizeof(LargestPart);

}  // namespace

void add_largest(const float* numbers, int64_t count, std::byte* scratch, int32_t* result,
                 std::vector<Launch>& launches) {
  auto* const parts = reinterpret_cast<LargestPart*>(scratch);
  const int64_t part = std::max(kLeastPart, ceil_div(count, kMostParts));
  const int64_t blocks = std::max<int64_t>(ceil_div(count, part), 1);
  constexpr size_t kShared = kChoiceThreads / 32 * sizeof(LargestPart);
  launches.push_back(Launch::of(Kernel::largest_parts,
                                LargestPartsArgs{numbers, parts, count, part}, blocks,
                                kChoiceThreads, kShared));
  launches.push_back(
      Launch::of(Kernel::largest, LargestArgs{parts, result, blocks}, 1, kChoiceThreads, kShared));
}

void add_rank(const float* numbers, int64_t count, std::byte* scratch, RankedNumber* result,
              std::vector<Launch>& launches) {
  constexpr int64_t kLeastRankPart = 4096;
  constexpr int64_t kMostRankParts = kRankBytes / (kMostRanked * sizeof(RankedNumber));
  constexpr unsigned kThreads = 512;
  constexpr size_t kShared = kThreads / 32 * sizeof(int);
  const int64_t part = std::max(kLeastRankPart, ceil_div(count, kMostRankParts));
  const int64_t blocks = ceil_div(count, part);
  auto* const parts = blocks > 1 ? reinterpret_cast<RankedNumber*>(scratch) : result;
  launches.push_back(Launch::of(Kernel::rank, RankArgs{numbers, nullptr, parts, count, part},
                                blocks, kThreads, kShared));
  if (blocks == 1) return;
  const int64_t last = std::min<int64_t>(count - (blocks - 1) * part, kMostRanked);
  const int64_t left = (blocks - 1) * kMostRanked + last;
  launches.push_back(
      Launch::of(Kernel::rank, RankArgs{nullptr, parts, result, left, left}, 1, kThreads, kShared));
}

}  // namespace pippin::cuda
