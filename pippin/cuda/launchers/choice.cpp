#include "pippin/cuda/launchers/choice.h"

#include <algorithm>

#include "pippin/base/numbers/checked.h"
#include "pippin/cuda/kernels/choice_args.h"

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

}  // namespace pippin::cuda
