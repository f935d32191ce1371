#include "pippin/base/allocations_testing.h"

#include <atomic>
#include <cstdlib>
#include <new>

static std::atomic<int64_t> count{0};

int64_t pippin::allocations() noexcept {
  return count.load();
}

void* operator new(size_t size) {
  ++count;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
// The standard's own one calls the above; a sanitizer's would bring memory that `free` refuses.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  ++count;
  return std::malloc(size);
}
// Both come from malloc, which GCC cannot see.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
