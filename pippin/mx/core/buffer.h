// The memory of arrays: shared by all views of it, and returned to a cache with the last one.
//
// Fresh large blocks cost a page fault per 4 KB, more than most operations on them, so freed ones
// are kept, up to a limit, for the next array of about the same size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "pippin/base/export.h"
#include "pippin/mx/core/ref.h"

namespace pippin::mx {

// A block of memory with a reference count, for the storage of nodes.
class PIPPIN_API Buffer final : public Counted {
 public:
  // Allocates at least `bytes`, aligned to 16 (large blocks: to 64). Throws LimitExceeded if there
  // is not enough memory.
  static Ref<Buffer> allocate(size_t bytes);
  // Wraps external memory; calls `release` when it is no longer read.
  static Ref<Buffer> borrow(void* data, size_t bytes, std::function<void()> release,
                            bool is_writable);

  // The first byte.
  std::byte* data() const noexcept { return data_; }
  // The usable bytes, including room for growth.
  size_t bytes() const noexcept { return bytes_; }
  // Whether arrays may be computed in place here.
  bool is_writable() const noexcept { return is_writable_; }

  // For arrays that grow at their end (append.h): sets the positions along an axis of this stride
  // that hold elements of some array. The positions after them can be claimed once, by one owner.
  void set_joined(size_t used, int64_t stride) noexcept {
    used_.store(used, std::memory_order_relaxed);
    stride_ = stride;
  }
  // Whether `used` positions of this stride are in use, and no more.
  bool is_joined(size_t used, int64_t stride) const noexcept {
    return used_.load(std::memory_order_relaxed) == used && stride_ == stride;
  }
  // Claims the positions from `from` to `to`; returns false if another owner was faster.
  bool claim(size_t from, size_t to) noexcept {
    return used_.compare_exchange_strong(from, to, std::memory_order_acq_rel);
  }

  // Frees the buffer, for Ref: large blocks go to the cache, borrowed memory to its `release`.
  static void destroy(Buffer* buffer) noexcept;

 private:
  Buffer() = default;
  ~Buffer() = default;

  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
  std::atomic<size_t> used_{0};
  int64_t stride_ = 0;
  std::function<void()>* release_ = nullptr;  // of borrowed memory
  bool is_writable_ = true;
  uint8_t kind_ = 0;
};

// Memory of arrays in bytes.
struct MemoryUse {
  // In use; cached for later arrays; the peak of use since the last reset.
  size_t active, cached, peak;
};
// Returns the memory that arrays use now.
PIPPIN_API MemoryUse memory_use() noexcept;
// Sets the peak to 0.
PIPPIN_API void reset_peak_memory() noexcept;
// Sets the limit of the cache in bytes (initially 1 GiB) and frees the rest; returns the previous
// limit.
PIPPIN_API size_t set_cache_limit(size_t bytes) noexcept;
// Frees the cached memory.
PIPPIN_API void clear_cache() noexcept;

}  // namespace pippin::mx
