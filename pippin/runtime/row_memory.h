// Memory for copies of caches. It returns to the system as soon as it is freed, which the heap does
// not promise: a budget in bytes holds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pippin/base/byte_span.h"
#include "pippin/base/export.h"

namespace pippin::runtime {

class PIPPIN_API RowMemory {
 public:
  RowMemory() = default;
  // The content is undefined. Throws LimitExceeded.
  explicit RowMemory(uint64_t size);
  RowMemory(RowMemory&& other) noexcept;
  RowMemory& operator=(RowMemory&& other) noexcept;
  ~RowMemory();

  ByteSpan bytes() const { return {data_, size_}; }
  MutableByteSpan bytes() { return {data_, size_}; }
  uint64_t size() const { return size_; }
  uint64_t memory() const;  // including padding to pages

 private:
  std::byte* data_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace pippin::runtime
