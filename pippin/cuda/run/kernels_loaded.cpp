#include "pippin/cuda/run/kernels_loaded.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/log.h"

namespace pippin::cuda {
namespace {

constexpr Result kNoImageForGpu = 209;

// Whether another fatbin may do.
bool is_unusable(Result result) {
  constexpr Result kInvalidImage = 200, kInvalidPtx = 218, kUnsupportedPtx = 222, kNotFound = 500;
  return result == kInvalidImage || result == kNoImageForGpu || result == kInvalidPtx ||
         result == kUnsupportedPtx || result == kNotFound;
}

}  // namespace

LoadedKernels::LoadedKernels(GpuPointer gpu, std::span<const KernelImage> images)
    : gpu_(std::move(gpu)) {
  Result result = kNoImageForGpu;
  for (const KernelImage image : images) {
    result = load(image);
    if (result == 0) return;
    if (!is_unusable(result)) gpu_->refuse(result, kSymbol<&Driver::load_library>);
    if (result != kNoImageForGpu) {
      log_info("some of this program's kernels cannot be loaded: {}", gpu_->driver().words(result));
    }
  }
  fail(ErrorCode::Unsupported,
       "this program's kernels do not run on a GPU of compute capability {}.{} with a driver for "
       "CUDA {}: {}",
       gpu_->limits().major, gpu_->limits().minor, version_text(gpu_->driver_version()),
       gpu_->driver().words(result));
}

// A driver that loads lazily (CUDA_MODULE_LOADING) finds out with the first kernel whether the
// image has code for the GPU.
Result LoadedKernels::load(KernelImage image) {
  const Driver& driver = gpu_->driver();
  Result result =
      driver.load_library(&library_, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (result != 0) return result;
  const std::string name(kernel_name(Kernel::copy));
  KernelHandle handle = nullptr;
  Function function = nullptr;
  result = driver.get_kernel(&handle, library_, name.c_str());
  if (result == 0) result = driver.get_function(&function, handle);
  if (result != 0) gpu_->release<&Driver::unload_library>(std::exchange(library_, nullptr));
  return result;
}

LoadedKernels::~LoadedKernels() {
  if (library_ != nullptr) gpu_->release<&Driver::unload_library>(library_);
}

Function LoadedKernels::find(Kernel kernel, bool of_lanes) const {
  const std::lock_guard lock(mutex_);
  Function& found = functions_[static_cast<size_t>(kernel)][of_lanes ? 1 : 0];
  if (found != nullptr) return found;
  const std::string name = fmt::format("{}{}", kernel_name(kernel), of_lanes ? "_lanes" : "");
  KernelHandle handle = nullptr;
  Function function = nullptr;
  gpu_->call<&Driver::get_kernel>(&handle, library_, name.c_str());
  gpu_->call<&Driver::get_function>(&function, handle);
  gpu_->call<&Driver::set_function_attribute>(function, FunctionAttribute::MaxSharedBytes,
                                              static_cast<int>(gpu_->limits().shared_bytes));
  found = function;
  return found;
}

}  // namespace pippin::cuda
