#include "pippin/cuda/run/kernels_loaded.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"

namespace pippin::cuda {
namespace {

constexpr Result kInvalidImage = 200, kNoImageForGpu = 209, kInvalidPtx = 218,
                 kUnsupportedPtx = 222;

}  // namespace

LoadedKernels::LoadedKernels(GpuPointer gpu, std::span<const std::byte> image)
    : gpu_(std::move(gpu)) {
  const Result result = gpu_->driver().load_library(&library_, image.data(), nullptr, nullptr, 0,
                                                    nullptr, nullptr, 0);
  for (const Result unusable : {kInvalidImage, kNoImageForGpu, kInvalidPtx, kUnsupportedPtx}) {
    if (result != unusable) continue;
    fail(ErrorCode::Unsupported,
         "this program's kernels do not run on a GPU of compute capability {}.{} with a driver for "
         "CUDA {}: {}",
         gpu_->limits().major, gpu_->limits().minor, version_text(gpu_->driver_version()),
         gpu_->driver().words(result));
  }
  if (result != 0) gpu_->refuse(result, kSymbol<&Driver::load_library>);
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
