#include "pippin/kernels/low_rank/low_rank.h"

#include <cstring>

#include "pippin/base/numbers/checked.h"
#include "pippin/kernels/dot/dot.h"

namespace pippin::kernels {
namespace {

constexpr Listed<LowRankKernels> kKernels[] = {
#define PIPPIN_LOW_RANK(flag, name) {&(name), &CpuFeatures::flag},
#include "pippin/kernels/low_rank/kernels.inc"
#undef PIPPIN_LOW_RANK
};

}  // namespace

std::span<const Listed<LowRankKernels>> low_rank_kernels() {
  return kKernels;
}

const LowRankKernels& choose_low_rank(const CpuFeatures& cpu) {
  return choose("low rank", low_rank_kernels(), cpu);
}

void add_low_rank(const LowRankKernels& kernels, WeightType type,
                  const LowRankArgs& args) noexcept {
  switch (type) {
    case WeightType::F32:
      return kernels.add_f32(args);
    case WeightType::F16:
      return kernels.add_f16(args);
    case WeightType::BF16:
      return kernels.add_bf16(args);
  }
}

std::vector<std::byte> pack_low_rank(const std::byte* b, WeightType type, int64_t n,
                                     int64_t ranks) {
  const int64_t size = bytes_per_weight(type);
  std::vector<std::byte> panels(static_cast<size_t>(align_up(n, kLowRankColumns) * ranks * size));
  for (int64_t j = 0; j < n; ++j) {
    const int64_t panel = j / kLowRankColumns * kLowRankColumns;
    for (int64_t r = 0; r < ranks; ++r) {
      const int64_t place = panel * ranks + r * kLowRankColumns + (j - panel);
      std::memcpy(panels.data() + place * size, b + (j * ranks + r) * size,
                  static_cast<size_t>(size));
    }
  }
  return panels;
}

}  // namespace pippin::kernels
