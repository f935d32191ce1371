// Memory for copies of caches. The system has it back as soon as it goes, which it does not promise
// of what the heap gave: a budget of bytes means what it says.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pippin/base/byte_span.h"
#include "pippin/base/export.h"

namespace pippin::runtime {

class PIPPIN_API RowMemory {
 public:
  RowMemory() = default;
  // Of no particular content. Throws LimitExceeded.
  explicit RowMemory(uint64_t size);
  RowMemory(RowMemory&& other) noexcept;
  RowMemory& operator=(RowMemory&& other) noexcept;
  ~RowMemory();

  ByteSpan bytes() const { return {data_, size_}; }
  MutableByteSpan bytes() { return {data_, size_}; }
  uint64_t size() const { return size_; }
  uint64_t memory() const;  // what the system gave for it

 private:
  std::byte* data_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace pippin::runtime
