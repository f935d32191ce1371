#include "pippin/kernels/dot/dot.h"

#include "pippin/base/log.h"
#include "pippin/base/thread_pool.h"

namespace pippin::kernels {
namespace {

constexpr DotKernel kKernels[] = {
#define PIPPIN_DOT(flag, name, weight, grain) \
  {#name, WeightType::weight, &CpuFeatures::flag, name, grain},
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

void dot(ThreadPool& pool, const DotKernel& kernel, const DotArgs& args) {
  pool.run([&](int part, int parts) {
    const Range n = split_range(args.n, part, parts, kernel.n_grain);
    if (n.begin < n.end) kernel.function(dot_columns(args, kernel.weight, n.begin, n.end));
  });
}

}  // namespace pippin::kernels
