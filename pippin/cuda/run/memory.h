// Memory of the GPU, and memory of the host that both reach.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pippin/cuda/run/gpu.h"

namespace pippin::cuda {

inline std::byte* pointer_of(Address address) {
  return reinterpret_cast<std::byte*>(address);
}
inline Address address_of(const void* device_pointer) {
  return reinterpret_cast<Address>(device_pointer);
}

// Uninitialized, aligned to 256 bytes. Work that uses it must have ended before it is destroyed.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  // Throws LimitExceeded, naming `what`, with the needed and the free bytes.
  DeviceMemory(GpuPointer gpu, uint64_t size, const char* what);
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  ~DeviceMemory();

  Address address() const { return address_; }
  std::byte* data() const { return pointer_of(address_); }  // never dereferenced by the host
  uint64_t size() const { return size_; }

 private:
  GpuPointer gpu_;
  Address address_ = 0;
  uint64_t size_ = 0;
};

// Zeroed, locked in the host's memory: copies from and to it do not wait, and kernels reach it at
// the same address.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  PinnedMemory(GpuPointer gpu, uint64_t size, const char* what);
  PinnedMemory(PinnedMemory&& other) noexcept;
  PinnedMemory& operator=(PinnedMemory&& other) noexcept;
  ~PinnedMemory();

  std::byte* data() const { return data_; }
  uint64_t size() const { return size_; }

 private:
  GpuPointer gpu_;
  std::byte* data_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace pippin::cuda
