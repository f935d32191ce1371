#include "pippin/base/allocations_testing.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

static std::atomic<int64_t> count{0}, live{0}, peak{0};

// Each block is preceded by its size, which delete does not always receive.
constexpr size_t kHeader = alignof(std::max_align_t);

static size_t& size_of(std::byte* memory) noexcept {
  return *static_cast<size_t*>(static_cast<void*>(memory - kHeader));
}

// `alignment` must be a multiple of kHeader's.
static void* allocate(size_t size, size_t alignment = kHeader) noexcept {
  ++count;
  if (size > SIZE_MAX / 2) return nullptr;
  const size_t whole = (size + 2 * alignment - 1) / alignment * alignment;
  void* const block =
      alignment == kHeader ? std::malloc(whole) : std::aligned_alloc(alignment, whole);
  if (block == nullptr) return nullptr;
  std::byte* const memory = static_cast<std::byte*>(block) + alignment;
  size_of(memory) = size;
  const int64_t now = live += static_cast<int64_t>(size);
  int64_t most = peak.load();
  while (now > most && !peak.compare_exchange_weak(most, now)) continue;
  return memory;
}

static void release(void* memory, size_t alignment = kHeader) noexcept {
  if (memory == nullptr) return;
  auto* const bytes = static_cast<std::byte*>(memory);
  live -= static_cast<int64_t>(size_of(bytes));
  std::free(bytes - alignment);
}

int64_t pippin::allocations() noexcept {
  return count.load();
}

int64_t pippin::peak_bytes() noexcept {
  return peak.load();
}

int64_t pippin::live_bytes() noexcept {
  return live.load();
}

void pippin::reset_peak_bytes() noexcept {
  peak = live.load();
}

void* operator new(size_t size) {
  if (void* memory = allocate(size)) return memory;
  throw std::bad_alloc();
}
// The standard library's version calls the one above; a sanitizer's would return memory that our
// `free` rejects.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return allocate(size);
}
void* operator new(size_t size, std::align_val_t alignment) {
  if (void* memory = allocate(size, static_cast<size_t>(alignment))) return memory;
  throw std::bad_alloc();
}
// All blocks come from malloc, which GCC cannot see.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void operator delete(void* memory) noexcept {
  release(memory);
}
void operator delete(void* memory, size_t) noexcept {
  release(memory);
}
void operator delete(void* memory, std::align_val_t alignment) noexcept {
  release(memory, static_cast<size_t>(alignment));
}
void operator delete(void* memory, size_t, std::align_val_t alignment) noexcept {
  release(memory, static_cast<size_t>(alignment));
}
