// Memory for copies of caches. It returns to the system as soon as it is freed, which the heap does
// not promise: a budget in bytes holds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pippin/base/byte_span.h"
#include "pippin/base/export.h"

namespace pippin::runtime {

// A block of memory; empty by default.
class PIPPIN_API RowMemory {
 public:
  RowMemory() = default;
  // Allocates `size` bytes with undefined content. Throws LimitExceeded.
  explicit RowMemory(uint64_t size);
  RowMemory(RowMemory&& other) noexcept;
  RowMemory& operator=(RowMemory&& other) noexcept;
  ~RowMemory();

  // The bytes that were requested.
  ByteSpan bytes() const { return {data_, size_}; }
  MutableByteSpan bytes() { return {data_, size_}; }
  // The number of bytes that were requested.
  uint64_t size() const { return size_; }
  // The bytes that it takes, including padding to pages.
  uint64_t memory() const;

 private:
  std::byte* data_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace pippin::runtime
