#include "pippin/kernels/quantize/quantize.h"

namespace pippin::kernels {
namespace {

constexpr Listed<QuantizeKernels> kKernels[] = {
#define PIPPIN_QUANTIZE(flag, name) {&(name), &CpuFeatures::flag},
#include "pippin/kernels/quantize/kernels.inc"
#undef PIPPIN_QUANTIZE
};

}  // namespace

std::span<const Listed<QuantizeKernels>> quantize_kernels() {
  return kKernels;
}

const QuantizeKernels& choose_quantize(const CpuFeatures& cpu) {
  return choose("quantize", quantize_kernels(), cpu);
}

}  // namespace pippin::kernels
