#include "pippin/runtime/row_memory.h"

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include <sys/mman.h>

#include "pippin/base/error.h"
#include "pippin/base/platform/pages.h"
#include "pippin/base/text.h"

namespace pippin::runtime {
namespace {

constexpr uint64_t kLeastMapped = 32768;  // padding to whole pages would waste too much of less

// Rounds up to whole pages.
uint64_t in_pages(uint64_t bytes) {
  const uint64_t page = page_size();
  return (bytes + page - 1) / page * page;
}

}  // namespace

RowMemory::RowMemory(uint64_t size) : size_(size) {
  if (size == 0) return;
  if (size < kLeastMapped) {
    data_ = static_cast<std::byte*>(::operator new(size));
    return;
  }
  // Aligns large blocks to huge pages: first touches of small pages cost more than the copy.
  const uint64_t around = size >= kHugePage ? kHugePage : 0;
  void* const found =
      ::mmap(nullptr, size + around, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (found == MAP_FAILED) {
    fail(ErrorCode::LimitExceeded, "a copy of {} of a cache cannot be kept: {}", format_bytes(size),
         std::strerror(errno));
  }
  data_ = static_cast<std::byte*>(found);
  if (around == 0) return;
  const auto place = reinterpret_cast<uintptr_t>(data_);
  const uint64_t before = (kHugePage - place % kHugePage) % kHugePage;
  const uint64_t end = in_pages(before + size);
  if (before > 0) ::munmap(data_, before);
  if (end < size + around) ::munmap(data_ + end, size + around - end);
  data_ += before;
  want_huge_pages(data_, size / kHugePage * kHugePage);  // never past the requested size
}

RowMemory::RowMemory(RowMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

RowMemory& RowMemory::operator=(RowMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

uint64_t RowMemory::memory() const {
  return size_ < kLeastMapped ? size_ : in_pages(size_);
}

RowMemory::~RowMemory() {
  if (size_ >= kLeastMapped) {
    ::munmap(data_, size_);
  } else {
    ::operator delete(data_);
  }
}

}  // namespace pippin::runtime
