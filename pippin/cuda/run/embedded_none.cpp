#include "pippin/cuda/device.h"
#include "pippin/cuda/run/embedded.h"

namespace pippin::cuda {

std::span<const std::byte> embedded_kernels() {
  return {};
}

std::string_view kernel_targets() {
  return {};
}

}  // namespace pippin::cuda
