#include "pippin/cuda/run/memory.h"

#include <cstring>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/text.h"

namespace pippin::cuda {

DeviceMemory::DeviceMemory(GpuPointer gpu, uint64_t size, const char* what)
    : gpu_(std::move(gpu)), size_(size) {
  if (size == 0) return;
  const Result result = gpu_->driver().allocate(&address_, size);
  if (result == kOutOfMemory) {
    fail(ErrorCode::LimitExceeded, "{} needs {} of the GPU's memory; {} are free", what,
         format_bytes(size), format_bytes(gpu_->free_bytes()));
  }
  if (result != 0) gpu_->refuse(result, kSymbol<&Driver::allocate>);
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : gpu_(std::move(other.gpu_)),
      address_(std::exchange(other.address_, 0)),
      size_(std::exchange(other.size_, 0)) {}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(gpu_, other.gpu_);
  std::swap(address_, other.address_);
  std::swap(size_, other.size_);
  return *this;
}

DeviceMemory::~DeviceMemory() {
  if (address_ != 0) gpu_->release<&Driver::release>(address_);
}

PinnedMemory::PinnedMemory(GpuPointer gpu, uint64_t size, const char* what)
    : gpu_(std::move(gpu)), size_(size) {
  if (size == 0) return;
  void* data = nullptr;
  const Result result = gpu_->driver().allocate_host(&data, size);
  if (result == kOutOfMemory) {
    fail(ErrorCode::LimitExceeded, "{} of {} cannot be locked in the host's memory", what,
         format_bytes(size));
  }
  if (result != 0) gpu_->refuse(result, kSymbol<&Driver::allocate_host>);
  data_ = static_cast<std::byte*>(data);
  std::memset(data_, 0, size);
}

PinnedMemory::PinnedMemory(PinnedMemory&& other) noexcept
    : gpu_(std::move(other.gpu_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

PinnedMemory& PinnedMemory::operator=(PinnedMemory&& other) noexcept {
  std::swap(gpu_, other.gpu_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

PinnedMemory::~PinnedMemory() {
  if (data_ != nullptr) gpu_->release<&Driver::release_host>(static_cast<void*>(data_));
}

}  // namespace pippin::cuda
