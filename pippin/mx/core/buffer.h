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

class PIPPIN_API Buffer final : public Counted {
 public:
  // Allocates at least `bytes`, aligned to 16 (large blocks: to 64). Throws LimitExceeded if there
  // is not enough memory.
  static Ref<Buffer> allocate(size_t bytes);
  // Wraps external memory; calls `release` when it is no longer read.
  static Ref<Buffer> borrow(void* data, size_t bytes, std::function<void()> release,
                            bool is_writable);

  std::byte* data() const noexcept { return data_; }
  size_t bytes() const noexcept { return bytes_; }  // usable, including room for growth
  bool is_writable() const noexcept { return is_writable_; }

  // For arrays that grow at their end (append.h): positions along an axis of this stride that hold
  // elements of some array. The positions after them can be claimed once, by one owner.
  void set_joined(size_t used, int64_t stride) noexcept {
    used_.store(used, std::memory_order_relaxed);
    stride_ = stride;
  }
  bool is_joined(size_t used, int64_t stride) const noexcept {
    return used_.load(std::memory_order_relaxed) == used && stride_ == stride;
  }
  bool claim(size_t from, size_t to) noexcept {
    return used_.compare_exchange_strong(from, to, std::memory_order_acq_rel);
  }

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

// Memory of arrays in bytes: in use; cached for later arrays; peak since the last reset.
struct MemoryUse {
  size_t active, cached, peak;
};
PIPPIN_API MemoryUse memory_use() noexcept;
PIPPIN_API void reset_peak_memory() noexcept;
// Sets the limit of the cache; returns the previous one.
PIPPIN_API size_t set_cache_limit(size_t bytes) noexcept;
PIPPIN_API void clear_cache() noexcept;

}  // namespace pippin::mx
