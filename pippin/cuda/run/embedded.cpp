#include "pippin/cuda/run/embedded.h"

#include "pippin/base/embed.h"
#include "pippin/cuda/device.h"

// Definitions of the build (pippin/cuda/CMakeLists.txt), if it has nvcc.
#ifdef PIPPIN_CUDA_FATBIN
PIPPIN_EMBED(pippin_cuda_kernels, PIPPIN_CUDA_FATBIN);
#else
#define PIPPIN_CUDA_TARGETS ""
#endif

namespace pippin::cuda {

std::span<const std::byte> embedded_kernels() {
#ifdef PIPPIN_CUDA_FATBIN
  return std::as_bytes(std::span(pippin_cuda_kernels, pippin_cuda_kernels_end));
#else
  return {};
#endif
}

std::string_view kernel_targets() {
  return PIPPIN_CUDA_TARGETS;
}

}  // namespace pippin::cuda
