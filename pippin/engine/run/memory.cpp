#include "pippin/engine/run/memory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/mman.h>

#include "pippin/base/error.h"
#include "pippin/base/platform/pages.h"
#include "pippin/base/text.h"

namespace pippin::engine {

Memory::Memory(uint64_t size, const char* what) : size_(size) {
  if (size == 0) return;
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    fail(ErrorCode::LimitExceeded, "{} of {} cannot be reserved: {}", what, format_bytes(size),
         std::strerror(errno));
  }
  data_ = static_cast<std::byte*>(data);
}

Memory::Memory(Memory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Memory::~Memory() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

Memory Memory::copy(const char* what) const {
  static constexpr size_t kPage = 4096;
  static constexpr std::byte kZeros[kPage] = {};
  Memory result(size_, what);
  for (uint64_t at = 0; at < size_; at += kPage) {
    const size_t count = std::min<uint64_t>(kPage, size_ - at);
    if (std::memcmp(data_ + at, kZeros, count) != 0) {
      std::memcpy(result.data_ + at, data_ + at, count);
    }
  }
  return result;
}

void Memory::zero() {
  if (data_ != nullptr && !zero_pages(data_, size_)) std::memset(data_, 0, size_);
}

uint64_t Memory::bytes_present() const {
  return data_ != nullptr ? present_bytes(data_, size_) : 0;
}

}  // namespace pippin::engine
