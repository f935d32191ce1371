#include "pippin/kernels/dot/dot.h"

#include <algorithm>

#include "pippin/base/log.h"
#include "pippin/base/numbers/checked.h"

namespace pippin::kernels {
namespace {

constexpr DotKernel kKernels[] = {
#define PIPPIN_DOT(flag, name, weight, grain) \
  {#name, WeightType::weight, &CpuFeatures::flag, name, name##_many, grain},
#include "pippin/kernels/dot/kernels.inc"
#undef PIPPIN_DOT
};

}  // namespace

std::span<const DotKernel> dot_kernels() {
  return kKernels;
}

const DotKernel& choose_dot(WeightType weight, const CpuFeatures& cpu) {
  const DotKernel* chosen = nullptr;
  for (const DotKernel& kernel : kKernels) {
    if (chosen == nullptr && kernel.weight == weight && cpu.*kernel.needs) {
      chosen = &kernel;
    }
  }
  log_choice("dot", chosen->name);  // the scalar line always matches
  return *chosen;
}

DotArgs dot_columns(const DotArgs& args, WeightType weight, int64_t n_begin, int64_t n_end) {
  DotArgs part = args;
  part.w = static_cast<const char*>(args.w) + n_begin * args.w_stride * bytes_per_weight(weight);
  if (args.bias != nullptr) part.bias = args.bias + n_begin;
  part.y = args.y + n_begin;
  part.n = n_end - n_begin;
  return part;
}

int64_t packed_columns(const DotKernel& kernel, int64_t n, int64_t k) {
  const int64_t fit = kMostPacked / std::max<int64_t>(k, 1) / kernel.n_grain * kernel.n_grain;
  return std::clamp(fit, kernel.n_grain, std::max(kernel.n_grain, align_up(n, kernel.n_grain)));
}

int64_t packed_floats(const DotKernel& kernel, int64_t n, int64_t k) {
  return packed_columns(kernel, n, k) * k;
}

bool packs(const DotKernel& kernel) {
  return kernel.needs != &CpuFeatures::scalar;
}

int64_t all_packed_floats(const DotKernel& kernel, int64_t n, int64_t k) {
  return align_up(n, kernel.n_grain) * k;
}

void pack(const DotKernel& kernel, const DotArgs& args, float* packed) {
  DotArgs none = args;
  none.m = 0;
  kernel.many_rows({none, packed, false});
}

void dot(ThreadPool& pool, const DotKernel& kernel, const DotArgs& args) {
  pool.run([&](int part, int parts) {
    const Range n = split_range(args.n, part, parts, kernel.n_grain);
    if (n.begin < n.end) kernel.function(dot_columns(args, kernel.weight, n.begin, n.end));
  });
}

}  // namespace pippin::kernels
