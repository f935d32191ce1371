// Allocator for tables with random access: large ones use huge pages if the system has them.
#pragma once

#include <cstddef>
#include <new>

#include "pippin/base/platform/pages.h"

namespace pippin::tokenizers {

template <typename T>
struct LargeAllocator {
  using value_type = T;

  LargeAllocator() = default;
  template <typename U>
  LargeAllocator(const LargeAllocator<U>& /*other*/) noexcept {}  // NOLINT: as allocators are

  T* allocate(size_t count) {
    if (count > static_cast<size_t>(-1) / sizeof(T)) throw std::bad_array_new_length();
    const size_t bytes = count * sizeof(T);
    if (bytes < kHugePage) return static_cast<T*>(::operator new(bytes));
    void* const data = ::operator new(bytes, std::align_val_t(kHugePage));
    want_huge_pages(data, bytes / kHugePage * kHugePage);
    return static_cast<T*>(data);
  }
  void deallocate(T* data, size_t count) noexcept {
    if (count * sizeof(T) < kHugePage) {
      ::operator delete(data);
    } else {
      ::operator delete(data, std::align_val_t(kHugePage));
    }
  }
  bool operator==(const LargeAllocator& /*other*/) const { return true; }
};

}  // namespace pippin::tokenizers
