#include "pippin/kernels/elementwise/elementwise.h"

namespace pippin::kernels {
namespace {

constexpr Listed<ElementwiseKernels> kKernels[] = {
#define PIPPIN_ELEMENTWISE(flag, name) {&(name), &CpuFeatures::flag},
#include "pippin/kernels/elementwise/kernels.inc"
#undef PIPPIN_ELEMENTWISE
};

}  // namespace

std::span<const Listed<ElementwiseKernels>> elementwise_kernels() {
  return kKernels;
}

const ElementwiseKernels& choose_elementwise(const CpuFeatures& cpu) {
  return choose("elementwise", elementwise_kernels(), cpu);
}

}  // namespace pippin::kernels
