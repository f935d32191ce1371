#include "pippin/mx/core/buffer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/base/platform/pages.h"
#include "pippin/base/threads/fork.h"

namespace pippin::mx {
namespace {

enum Storage : uint8_t { Together, Large, Borrowed };

constexpr size_t kLargeBytes = size_t{1} << 16;
constexpr size_t kHeader = (sizeof(Buffer) + 63) / 64 * 64;

std::atomic<size_t> active_bytes{0};
std::atomic<size_t> peak_bytes{0};

void count(size_t bytes) noexcept {
  const size_t now = active_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  size_t peak = peak_bytes.load(std::memory_order_relaxed);
  while (peak < now && !peak_bytes.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

// Sizes are rounded up to limit the number of block sizes: eight steps per power of two.
size_t block_size(size_t bytes) {
  return align_up(bytes, std::max(size_t{4096}, std::bit_floor(bytes) / 8));
}

// Freed large blocks, the newest of a size last.
class Cache {
 public:
  void* take(size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    for (size_t i = blocks_.size(); i-- > 0;) {
      if (blocks_[i].bytes != bytes) continue;
      void* data = blocks_[i].data;
      blocks_.erase(blocks_.begin() + static_cast<ptrdiff_t>(i));
      held_ -= bytes;
      return data;
    }
    return nullptr;
  }

  void give(void* data, size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    if (bytes > limit_ || blocks_.size() == blocks_.capacity()) {
      if (bytes > limit_ || blocks_.empty()) return std::free(data);
    }
    blocks_.push_back({data, bytes});
    held_ += bytes;
    shrink();
  }

  size_t held() noexcept {
    const std::lock_guard lock(mutex_);
    return held_;
  }

  size_t set_limit(size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    const size_t before = std::exchange(limit_, bytes);
    shrink();
    return before;
  }

  void clear() noexcept {
    const size_t before = set_limit(0);
    set_limit(before);
  }

 private:
  struct Block {
    void* data;
    size_t bytes;
  };
  void shrink() noexcept {  // frees the oldest first
    size_t gone = 0;
    while (gone < blocks_.size() && (held_ > limit_ || blocks_.size() - gone > kMostBlocks)) {
      held_ -= blocks_[gone].bytes;
      std::free(blocks_[gone++].data);
    }
    blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<ptrdiff_t>(gone));
  }

  static constexpr size_t kMostBlocks = 256;
  ForkMutex mutex_;
  std::vector<Block> blocks_ = [] {
    std::vector<Block> blocks;
    blocks.reserve(kMostBlocks + 1);  // so that freeing a block never allocates
    return blocks;
  }();
  size_t held_ = 0;
  size_t limit_ = size_t{1} << 30;
};

Cache& cache() {
  static auto* const instance = new Cache();  // outlives static arrays
  return *instance;
}

void* large_block(size_t bytes) {
  if (void* data = cache().take(bytes)) return data;
  const size_t alignment = bytes >= kHugePage ? kHugePage : 64;
  void* data = std::aligned_alloc(alignment, align_up(bytes, alignment));
  if (data == nullptr) {
    cache().clear();
    data = std::aligned_alloc(alignment, align_up(bytes, alignment));
  }
  if (data == nullptr) {
    fail(ErrorCode::LimitExceeded, "no memory for an array of {} bytes", bytes);
  }
  if (bytes >= kHugePage) want_huge_pages(data, bytes);
  return data;
}

}  // namespace

Ref<Buffer> Buffer::allocate(size_t bytes) {
  if (bytes > size_t{1} << 46) {
    fail(ErrorCode::LimitExceeded, "no memory for an array of {} bytes", bytes);
  }
  if (bytes < kLargeBytes) {
    void* memory = std::malloc(kHeader + bytes);
    if (memory == nullptr) {
      fail(ErrorCode::LimitExceeded, "no memory for an array of {} bytes", bytes);
    }
    auto* buffer = new (memory) Buffer();
    buffer->data_ = static_cast<std::byte*>(memory) + kHeader;
    buffer->bytes_ = bytes;
    buffer->kind_ = Together;
    count(bytes);
    return Ref<Buffer>(buffer);
  }
  const size_t block = block_size(bytes);
  void* data = large_block(block);
  auto* buffer = new Buffer();
  buffer->data_ = static_cast<std::byte*>(data);
  buffer->bytes_ = block;
  buffer->kind_ = Large;
  count(block);
  return Ref<Buffer>(buffer);
}

Ref<Buffer> Buffer::borrow(void* data, size_t bytes, std::function<void()> release,
                           bool is_writable) {
  auto* buffer = new Buffer();
  buffer->data_ = static_cast<std::byte*>(data);
  buffer->bytes_ = bytes;
  buffer->kind_ = Borrowed;
  buffer->is_writable_ = is_writable;
  Ref<Buffer> result(buffer);
  buffer->release_ = new std::function<void()>(std::move(release));
  return result;
}

void Buffer::destroy(Buffer* buffer) noexcept {
  switch (buffer->kind_) {
    case Together:
      active_bytes.fetch_sub(buffer->bytes_, std::memory_order_relaxed);
      buffer->~Buffer();
      std::free(buffer);
      return;
    case Large:
      active_bytes.fetch_sub(buffer->bytes_, std::memory_order_relaxed);
      cache().give(buffer->data_, buffer->bytes_);
      break;
    default:
      if (buffer->release_ != nullptr && *buffer->release_) (*buffer->release_)();
      delete buffer->release_;
  }
  delete buffer;
}

MemoryUse memory_use() noexcept {
  return {active_bytes.load(std::memory_order_relaxed), cache().held(),
          peak_bytes.load(std::memory_order_relaxed)};
}

void reset_peak_memory() noexcept {
  peak_bytes.store(0, std::memory_order_relaxed);
}

size_t set_cache_limit(size_t bytes) noexcept {
  return cache().set_limit(bytes);
}

void clear_cache() noexcept {
  cache().clear();
}

}  // namespace pippin::mx
