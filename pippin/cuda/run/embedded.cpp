#include "pippin/cuda/run/embedded.h"

#include <vector>

#include "pippin/base/embed.h"
#include "pippin/cuda/device.h"

// Definitions of the build (pippin/cuda/CMakeLists.txt), if it has nvcc.
#ifdef PIPPIN_CUDA_FATBIN
PIPPIN_EMBED(pippin_cuda_kernels, PIPPIN_CUDA_FATBIN);
#else
#define PIPPIN_CUDA_TARGETS ""
#endif
#ifdef PIPPIN_CUDA_SECOND_FATBIN
PIPPIN_EMBED(pippin_second_cuda_kernels, PIPPIN_CUDA_SECOND_FATBIN);
#endif

namespace pippin::cuda {

std::span<const KernelImage> embedded_kernels() {
  static const std::vector<KernelImage> images = {
#ifdef PIPPIN_CUDA_SECOND_FATBIN
      std::as_bytes(std::span(pippin_second_cuda_kernels, pippin_second_cuda_kernels_end)),
#endif
#ifdef PIPPIN_CUDA_FATBIN
      std::as_bytes(std::span(pippin_cuda_kernels, pippin_cuda_kernels_end)),
#endif
  };
  return images;
}

std::string_view kernel_targets() {
  return PIPPIN_CUDA_TARGETS;
}

}  // namespace pippin::cuda
