#include "pippin/base/error.h"
#include "pippin/cuda/device.h"
#include "pippin/cuda/run/embedded.h"

namespace pippin::cuda {

bool has_kernels() {
  return !embedded_kernels().empty();
}

std::vector<DeviceFacts> list_devices() {
  fail(ErrorCode::Unsupported, "no NVIDIA driver (libcuda.so.1)");
}

std::shared_ptr<engine::Device> open_device(int /*index*/) {
  fail(ErrorCode::Unsupported, "no NVIDIA driver (libcuda.so.1)");
}

}  // namespace pippin::cuda
