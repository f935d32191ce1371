#include "pippin/cuda/launchers/launch.h"

#include "pippin/cuda/kernels/all_args.h"

namespace pippin::cuda {
namespace {

struct KernelFacts {
  std::string_view name;
  size_t bytes;
  unsigned threads;
};
constexpr KernelFacts kFacts[] = {
#define PIPPIN_CUDA_KERNEL(name, Args, threads) {#name, sizeof(Args), threads},
#include "pippin/cuda/kernels/kernels.inc"
#undef PIPPIN_CUDA_KERNEL
};

}  // namespace

std::string_view kernel_name(Kernel kernel) {
  return kFacts[static_cast<size_t>(kernel)].name;
}
size_t argument_bytes(Kernel kernel) {
  return kFacts[static_cast<size_t>(kernel)].bytes;
}
unsigned most_threads(Kernel kernel) {
  return kFacts[static_cast<size_t>(kernel)].threads;
}

}  // namespace pippin::cuda
